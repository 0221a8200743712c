// SPDX-License-Identifier: MIT
#include "migrate/itemize.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <optional>

#include "base/check.h"
#include "codec/json.h"
#include "codec/percent.h"
#include "migrate/tree.h"

namespace sluice::migrate {
namespace {

using codec::json::utf8_character_bytes;
using codec::json::Writer;

struct NamedDifference {
  unsigned bit;
  std::string_view name;
};

constexpr std::array<NamedDifference, 8> kDifferences{{{kDiffSize, "size"},
                                                       {kDiffTime, "time"},
                                                       {kDiffMode, "mode"},
                                                       {kDiffOwner, "owner"},
                                                       {kDiffGroup, "group"},
                                                       {kDiffContent, "content"},
                                                       {kDiffTarget, "target"},
                                                       {kDiffDevice, "device"}}};

/// The one that the report is about: what is, or would be, copied; or what would be deleted.
const Entry& subject(const ReportRow& row) {
  const Verdict verdict = row.comparison.verdict;
  SLUICE_CHECK(row.src != nullptr || row.dst != nullptr);
  if (verdict != Verdict::unknown && verdict != Verdict::excluded) {
    SLUICE_CHECK((row.src == nullptr) == (verdict == Verdict::extra));
    SLUICE_CHECK((row.dst == nullptr) == (verdict == Verdict::missing));
  }
  return row.src != nullptr ? *row.src : *row.dst;
}

/// Empty if there is nothing to say.
std::string reason(const ReportRow& row) {
  if (!row.error.empty()) return std::string(row.error);
  std::string text;
  if (row.src != nullptr && row.src->error != 0)
    text = "src: " + errno_name(static_cast<int>(row.src->error));
  if (row.dst != nullptr && row.dst->error != 0)
    text += (text.empty() ? "dst: " : ", dst: ") + errno_name(static_cast<int>(row.dst->error));
  if (text.empty() && row.comparison.verdict == Verdict::unknown) return "contents were not read";
  return text;
}

bool is_octal_escape(std::string_view text) {
  const auto digit = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '9'; };
  return text.size() >= 5 && text.starts_with("\\#") && digit(2) && digit(3) && digit(4);
}

std::string escaped(std::string_view bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::string_view rest = bytes.substr(at);
    const auto byte = static_cast<unsigned char>(rest[0]);
    const std::size_t size = utf8_character_bytes(rest);
    if (size == 0 || byte < 0x20 || byte == 0x7f || is_octal_escape(rest)) {
      text += fmt::format("\\#{:03o}", byte);
      ++at;
    } else {
      text += rest.substr(0, size);
      at += size;
    }
  }
  return text;
}

std::string shown_path(const ReportRow& row, const Entry& entry) {
  if (row.path.empty()) return "./";
  return escaped(row.path) + (entry.kind == Kind::folder ? "/" : "");
}

/// What the line is about, as it stands behind the columns.
std::string shown(const ReportRow& row, const Entry& entry) {
  std::string text = shown_path(row, entry);
  if (entry.kind == Kind::link) text += " -> " + escaped(entry.target);
  return text + "\n";
}

char kind_column(Kind kind) {
  switch (kind) {
    case Kind::file:
      return 'f';
    case Kind::folder:
      return 'd';
    case Kind::link:
      return 'L';
    case Kind::char_device:
    case Kind::block_device:
      return 'D';
    case Kind::fifo:
    case Kind::socket:
      break;
  }
  return 'S';
}

std::string columns(char update, Kind kind, unsigned differences) {
  std::string text = {update, kind_column(kind), '.', '.', '.', '.', '.', '.', '.', '.', '.'};
  const auto mark = [&](std::size_t at, unsigned bits, char letter) {
    if ((differences & bits) != 0) text[at] = letter;
  };
  mark(2, kDiffContent | kDiffTarget | kDiffDevice, 'c');
  mark(3, kDiffSize, 's');
  mark(4, kDiffTime, 't');
  mark(5, kDiffMode, 'p');
  mark(6, kDiffOwner, 'o');
  mark(7, kDiffGroup, 'g');
  return text + " ";
}

/// Only a file is sent; everything else is made on the spot.
char update_column(Kind kind) {
  return kind == Kind::file ? '>' : 'c';
}

std::string created(const ReportRow& row, const Entry& entry) {
  return std::string{update_column(entry.kind), kind_column(entry.kind)} + "+++++++++ " +
         shown(row, entry);
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t size = utf8_character_bytes(bytes);
    if (size == 0) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

std::string percent_path(std::string_view path) {
  std::string text;
  for (std::size_t at = 0;;) {
    const std::size_t slash = path.find('/', at);
    text += codec::percent_encode(path.substr(at, slash - at));
    if (slash == path.npos) return text;
    text += '/';
    at = slash + 1;
  }
}

std::string time_text(std::int64_t mtime_ns) {
  using namespace std::chrono;  // NOLINT(google-build-using-namespace): a calendar's worth of
                                // names.
  const sys_time<nanoseconds> time{nanoseconds(mtime_ns)};
  // All times that 64 bits of nanoseconds hold are between the years 1677 and 2262, but the begin
  // of the earliest day is not among them: hence days are counted first.
  const auto day = floor<days>(time);
  const auto seconds_since = floor<seconds>(time).time_since_epoch();
  const auto of_day = seconds_since - duration_cast<seconds>(day.time_since_epoch());
  const auto nanos = (mtime_ns % 1'000'000'000 + 1'000'000'000) % 1'000'000'000;
  const year_month_day date{day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     of_day.count() / 3600, of_day.count() / 60 % 60, of_day.count() % 60, nanos);
}

void put_bytes(Writer& writer, std::string_view name, std::string_view bytes) {
  writer.name(name).string(bytes);
  if (!is_utf8(bytes)) writer.name(std::string(name) + "_bytes").string(percent_path(bytes));
}

std::string hex(const Hash& hash) {
  std::string text;
  for (const std::uint8_t byte : hash) text += fmt::format("{:02x}", byte);
  return text;
}

void put_side(Writer& writer, const Entry* entry) {
  if (entry == nullptr) {
    writer.null();
    return;
  }
  writer.object().name("kind").string(kind_name(entry->kind));
  if (entry->error != 0) {
    writer.name("error").string(errno_name(static_cast<int>(entry->error))).end_object();
    return;
  }
  if (entry->kind == Kind::file) writer.name("size").number(entry->size);
  writer.name("mtime").string(time_text(entry->mtime_ns));
  writer.name("mode").string(fmt::format("{:04o}", entry->mode));
  writer.name("uid").number(entry->uid).name("gid").number(entry->gid);
  if (entry->kind == Kind::link) put_bytes(writer, "target", entry->target);
  if (entry->kind == Kind::char_device || entry->kind == Kind::block_device)
    writer.name("major").number(entry->rdev_major).name("minor").number(entry->rdev_minor);
  if (entry->device != 0 || entry->inode != 0)
    writer.name("device").number(entry->device).name("inode").number(entry->inode);
  if (entry->hash) writer.name("hash").string(hex(*entry->hash));
  writer.end_object();
}

void put_or_null(Writer& writer, std::string_view text) {
  if (text.empty()) {
    writer.null();
  } else {
    writer.string(text);
  }
}

std::string csv_path(std::string_view path) {
  std::string text;
  while (!path.empty()) {
    const std::size_t size = utf8_character_bytes(path);
    const bool plain = size != 0 && path[0] != '%';
    const std::string_view piece = path.substr(0, plain ? size : 1);
    text += plain ? std::string(piece) : codec::percent_encode(piece);
    path.remove_prefix(piece.size());
  }
  return text;
}

std::string quoted(std::string_view cell) {
  if (cell.find_first_of(",\"\r\n") == cell.npos) return std::string(cell);
  std::string text = "\"";
  for (const char c : cell) text.append(c == '"' ? 2 : 1, c);
  return text + '"';
}

/// Of nothing where nothing is known.
std::string csv_size(const Entry* entry) {
  const bool known = entry != nullptr && entry->error == 0 && entry->kind == Kind::file;
  return known ? std::to_string(entry->size) : "";
}

std::string csv_time(const Entry* entry) {
  return entry != nullptr && entry->error == 0 ? time_text(entry->mtime_ns) : "";
}

}  // namespace

std::string itemized_line(const ReportRow& row) {
  const Entry& entry = subject(row);
  const unsigned differences = row.comparison.differences;
  switch (row.comparison.verdict) {
    case Verdict::same:
      return std::string{'.', kind_column(entry.kind)} + std::string(10, ' ') + shown(row, entry);
    case Verdict::attributes:
    case Verdict::newer:
      return columns('.', entry.kind, differences) + shown(row, entry);
    case Verdict::content:
      return columns(update_column(entry.kind), entry.kind, differences) + shown(row, entry);
    case Verdict::missing:
      return created(row, entry);
    case Verdict::extra:
      return "*deleting   " + shown_path(row, entry) + "\n";
    case Verdict::clash:
      return "*deleting   " + shown_path(row, *row.dst) + "\n" + created(row, entry);
    case Verdict::unknown:
      return "?unknown    " + shown_path(row, entry) + " (" + escaped(reason(row)) + ")\n";
    case Verdict::excluded:
      return "-excluded   " + shown_path(row, entry) + "\n";
  }
  SLUICE_CHECK(false);
  return {};
}

std::string json_line(const ReportRow& row) {
  const Entry& entry = subject(row);
  Writer writer;
  writer.object();
  put_bytes(writer, "path", row.path);
  writer.name("kind").string(kind_name(entry.kind));
  writer.name("verdict").string(verdict_name(row.comparison.verdict));
  writer.name("differences").array();
  for (const auto& [bit, name] : kDifferences)
    if ((row.comparison.differences & bit) != 0) writer.string(name);
  writer.end_array().name("src");
  put_side(writer, row.src);
  writer.name("dst");
  put_side(writer, row.dst);
  writer.name("copy");
  put_or_null(writer, row.copy);
  writer.name("error");
  put_or_null(writer, reason(row));
  return writer.end_object().take() + "\n";
}

std::string_view csv_header() {
  return "path,kind,verdict,differences,src_size,dst_size,src_mtime,dst_mtime,copy,error\n";
}

std::string csv_line(const ReportRow& row) {
  const Entry& entry = subject(row);
  std::string differences;
  for (const auto& [bit, name] : kDifferences) {
    if ((row.comparison.differences & bit) == 0) continue;
    if (!differences.empty()) differences += ' ';
    differences += name;
  }
  return fmt::format("{},{},{},{},{},{},{},{},{},{}\n", quoted(csv_path(row.path)),
                     kind_name(entry.kind), verdict_name(row.comparison.verdict), differences,
                     csv_size(row.src), csv_size(row.dst), csv_time(row.src), csv_time(row.dst),
                     quoted(row.copy), quoted(reason(row)));
}

}  // namespace sluice::migrate
