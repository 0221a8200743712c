// SPDX-License-Identifier: MIT
// why.
#include "cli/output.h"
#include "cli/size.h"
#include "cli/time.h"
#include "cli/visible.h"
#include "codec/json.h"
#include "migrate/tree.h"
#include "sluice-migrate/commands.h"
#include "sluice-migrate/context.h"
#include "sluice-migrate/item.h"

namespace sluice::cli {
namespace {

using migrate::CopyOutcome;
using migrate::CopyStatus;
using migrate::Entry;
using migrate::Folder;
using migrate::Kind;
using migrate::Side;
using migrate::TraversalStatus;
using migrate::Verdict;
using migrate::WalkItem;

/// How the listing of one directory stands on one side.
struct Listed {
  std::optional<Folder> folder = {};
  std::optional<migrate::PendingFolder> pending = {};
};

Result<Listed> read_listed(kv::Store& store, Side side, std::uint32_t level, std::uint64_t id) {
  Listed listed;
  SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(folder, migrate::read_folder(reader, side, id));
    SLUICE_LET(pending, migrate::read_pending(reader, side, level, id));
    listed = {.folder = std::move(folder), .pending = std::move(pending)};
    return {};
  }));
  return listed;
}

std::string kind_words(Kind kind) {
  switch (kind) {
    case Kind::file:
      return "a file";
    case Kind::folder:
      return "a folder";
    case Kind::link:
      return "a symbolic link";
    case Kind::fifo:
      return "a fifo";
    case Kind::socket:
      return "a socket";
    case Kind::char_device:
      return "a character device";
    case Kind::block_device:
      return "a block device";
  }
  return "something";
}

std::string octal(std::uint32_t mode) {
  std::string text = "0000";
  for (std::size_t i = 4; i-- > 0; mode >>= 3) text[i] = static_cast<char>('0' + (mode & 7));
  return text;
}

std::string entry_words(const Entry* entry) {
  if (entry == nullptr) return "nothing of this name.";
  const std::string kind = kind_words(entry->kind);
  if (entry->excluded) return kind + ", excluded by a filter: not looked at.";
  if (entry->error != 0)
    return kind + " whose attributes or content could not be read: " +
           migrate::errno_name(static_cast<int>(entry->error)) + ".";
  std::string text = kind;
  if (entry->kind == Kind::file) text += " of " + plural(entry->size, "byte");
  if (entry->kind == Kind::link) text += " to " + in_quotes(entry->target);
  if (entry->kind == Kind::char_device || entry->kind == Kind::block_device)
    text += " " + std::to_string(entry->rdev_major) + ":" + std::to_string(entry->rdev_minor);
  text += ", modified " + format_time(WallTime(Duration(entry->mtime_ns)));
  text += ", mode " + octal(entry->mode) + ", owner " + std::to_string(entry->uid) + ":" +
          std::to_string(entry->gid);
  if (entry->inode != 0) text += ", one of several names of one file";
  return text + ".";
}

std::string attempts_words(std::uint32_t attempts) {
  return " after " + plural(attempts, "attempt");
}

std::string listed_words(const Listed& listed) {
  if (listed.pending) {
    std::string text = listed.folder ? "to be listed again" : "to be listed";
    if (listed.pending->attempts == 0) return text + ".";
    return text + "; " + migrate::errno_name(static_cast<int>(listed.pending->error)) +
           attempts_words(listed.pending->attempts) + " so far.";
  }
  if (!listed.folder) return "never listed.";
  const Folder& folder = *listed.folder;
  const std::string entries =
      folder.entries == 1 ? "1 entry" : format_count(folder.entries) + " entries";
  if (folder.changed)
    return "changed while it was read, each time: what is known may mix two states of it (" +
           entries + ").";
  if (folder.status == TraversalStatus::failed)
    return "could not be listed: " + migrate::errno_name(static_cast<int>(folder.error)) +
           attempts_words(folder.attempts) + ".";
  if (folder.presence == migrate::Presence::absent)
    return "not there, so there is nothing to list.";
  if (folder.status == TraversalStatus::unknown)
    return "not listed, because a listing that it depends on failed.";
  return "listed, " + entries + ".";
}

std::string difference_words(const WalkItem& item) {
  struct Name {
    std::uint16_t bit;
    std::string_view name;
  };
  constexpr std::array<Name, 8> kNames{{{migrate::kDiffSize, "size"},
                                        {migrate::kDiffTime, "time"},
                                        {migrate::kDiffMode, "mode"},
                                        {migrate::kDiffOwner, "owner"},
                                        {migrate::kDiffGroup, "group"},
                                        {migrate::kDiffContent, "content"},
                                        {migrate::kDiffTarget, "target"},
                                        {migrate::kDiffDevice, "device numbers"}}};
  std::string text;
  for (const Name& one : kNames)
    if ((item.found.differences & one.bit) != 0)
      text.append(text.empty() ? "" : ", ").append(one.name);
  return text;
}

std::string verdict_words(const WalkItem& item) {
  if (item.excluded) return "excluded from copy and delete; `include` takes that back.";
  if (!item.compared) return "not compared yet; the comparison is not finished.";
  switch (item.found.verdict) {
    case Verdict::same:
      return "the same on both sides.";
    case Verdict::attributes:
      return "the same content; different: " + difference_words(item) + ".";
    case Verdict::content:
      return "different: " + difference_words(item) + ".";
    case Verdict::missing:
      return "missing on the destination.";
    case Verdict::extra:
      return "extra: only on the destination. `copy --delete` removes it.";
    case Verdict::clash:
      return "a clash: the two are of different kinds. The source's takes its place.";
    case Verdict::newer:
      return "newer on the destination, and kept (--newer keep).";
    case Verdict::unknown:
      return "unknown (" + reason_of(item) +
             "). It is neither copied nor deleted; `retry` has it listed again.";
    case Verdict::excluded:
      return "excluded by a filter (--exclude or --one-file-system).";
  }
  return "";
}

std::string copy_words(const WalkItem& item) {
  switch (item.copy) {
    case CopyStatus::pending:
      return "still to be done.";
    case CopyStatus::in_progress:
      return "at work.";
    case CopyStatus::skipped:
      return "left alone.";
    case CopyStatus::failed:
      return "failed: " + reason_of(item) + ". The next `copy` tries again.";
    case CopyStatus::successful:
      break;
  }
  if (item.copied == nullptr) return "nothing to do.";
  const bool deleted = static_cast<CopyOutcome>(item.copied->id) == CopyOutcome::deleted;
  return deleted ? "removed from the destination." : "done.";
}

struct Known {
  std::optional<Listed> src = {};
  std::optional<Listed> dst = {};
};

std::string sentences(const WalkItem& item, const Known& known) {
  std::string text = visible(item.path == "." ? "the roots" : item.path) + "\n";
  text += "  Source: " + visible(entry_words(item.src)) + "\n";
  text += "  Destination: " + visible(entry_words(item.dst)) + "\n";
  if (known.src) text += "  Listing on the source: " + listed_words(*known.src) + "\n";
  if (known.dst) text += "  Listing on the destination: " + listed_words(*known.dst) + "\n";
  text += "  Verdict: " + visible(verdict_words(item)) + "\n";
  if (item.compared) text += "  Copy: " + visible(copy_words(item)) + "\n";
  return text;
}

void put_listed(codec::json::Writer& writer, const std::optional<Listed>& listed) {
  if (!listed) {
    writer.null();
    return;
  }
  const bool pending = listed->pending.has_value();
  const Folder folder = listed->folder.value_or(Folder{});
  const std::uint32_t error = pending ? listed->pending->error : folder.error;
  const auto status = pending ? TraversalStatus::pending : folder.status;
  writer.object().name("status").string(migrate::status_name(status));
  writer.name("attempts").number(pending ? listed->pending->attempts : folder.attempts);
  writer.name("error");
  if (error != 0)
    writer.string(migrate::errno_name(static_cast<int>(error)));
  else
    writer.null();
  writer.name("changed").boolean(folder.changed);
  writer.name("entries").number(folder.entries);
  writer.name("generation").number(folder.generation).end_object();
}

std::string as_json(const WalkItem& item, const Known& known) {
  codec::json::Writer writer;
  writer.object().name("src");
  put_listed(writer, known.src);
  writer.name("dst");
  put_listed(writer, known.dst);
  std::string text = item_json(item);
  text.pop_back();
  return text + ",\"excluded\":" + (item.excluded ? "true" : "false") +
         ",\"listing\":" + writer.end_object().take() + "}\n";
}

Result<int> why(Context& context, const Arguments& arguments) {
  const std::vector<std::string> words = operands(arguments);
  if (words.size() != 1) return error(Code::invalid_argument, "say what to explain: one PATH");
  SLUICE_LET(store, context.open_existing());
  SLUICE_LET(settings, settings_of(*store));
  SLUICE_LET(path, ledger_path(words.front(), settings));
  std::string text;
  Status read;
  SLUICE_TRY(migrate::walk(*store, {.under = path, .descend = false}, [&](const WalkItem& item) {
    Known known;
    if (item.src != nullptr && item.src->id != 0) {
      auto src = read_listed(*store, Side::src, item.level, item.src->id);
      auto dst = read_listed(*store, Side::dst, item.level, item.src->id);
      read = src ? status_of(dst) : src.error();
      if (!read.ok()) return false;
      known = {.src = std::move(*src), .dst = std::move(*dst)};
    }
    text = arguments.has("--json") ? as_json(item, known) : sentences(item, known);
    return false;  // The first one is what was asked for.
  }));
  SLUICE_TRY(read);
  write_all(1, text);
  return 0;
}

}  // namespace

std::vector<Command> why_commands() {
  return {
      {.name = "why",
       .alias = "",
       .arguments = "PATH",
       .summary = "tells all that the ledger knows of one path",
       .details = "  sluice-migrate why --state ./ledger photos/2019/img_0001.jpg",
       .options = {state_option(), json_option()},
       .takes = Takes::text,
       .run = why},
  };
}

}  // namespace sluice::cli
