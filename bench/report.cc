// SPDX-License-Identifier: MIT
#include "report.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/check.h"

namespace sluice::bench {
namespace {

using Cells = std::array<std::string, 5>;

Cells cells_of(const Row& row) {
  return {row.what, row.ours, row.peer, row.figure ? number(*row.figure) : "",
          row.bar ? fmt::format("{} {:g}",
                                row.bar->kind == Bar::Kind::at_least ? ">=" : "<=", row.bar->limit)
                  : ""};
}

std::vector<Cells> table_of(const std::vector<Row>& rows) {
  std::vector<Cells> table = {{"Measured", "Sluice", "Peer in the same run", "Figure", "Target"}};
  for (const Row& row : rows) table.push_back(cells_of(row));
  return table;
}

Cells padded(Cells cells, const std::vector<Cells>& table) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::size_t width = 0;
    for (const Cells& other : table) width = std::max(width, other[i].size());
    cells[i].resize(width, ' ');
  }
  return cells;
}

// "model name : Some CPU" of /proc/cpuinfo.
std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "a CPU without a name";
}

std::string machine() {
  utsname system{};
  uname(&system);
  double load = 0;
  getloadavg(&load, 1);
  const std::time_t now = std::time(nullptr);
  std::tm date{};
  gmtime_r(&now, &date);
  return fmt::format(
      "Measured on {}-{:02}-{:02}: {} cores of {}, {} {}. Load average at the end {:.1f}.",
      date.tm_year + 1900, date.tm_mon + 1, date.tm_mday, std::thread::hardware_concurrency(),
      cpu_model(), system.sysname, system.release, load);
}

Result<std::string> read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return error(Code::not_found, "cannot read " + path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace

std::string number(double value) {
  const double size = std::abs(value);
  if (size < 1000) return fmt::format("{:.{}f}", value, size < 10 ? 2 : size < 100 ? 1 : 0);
  const std::string digits = fmt::format("{:.0f}", size);
  std::string grouped = value < 0 ? "-" : "";
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) grouped += ',';
    grouped += digits[i];
  }
  return grouped;
}

bool Report::print() const {
  const auto table = table_of(rows_);
  for (const Cells& cells : table) fmt::print("{}\n", fmt::join(padded(cells, table), "  "));
  fmt::print("\n");
  bool kept = true;
  for (const Row& row : rows_) {
    if (!row.bar) continue;
    SLUICE_CHECK(row.figure.has_value());
    const bool ok = row.bar->kept_by(*row.figure);
    kept = kept && ok;
    fmt::print("bar {}.{} {:.3f} {}{:g} {}\n", name_, row.bar->name, *row.figure,
               row.bar->kind == Bar::Kind::at_least ? ">=" : "<=", row.bar->limit,
               ok ? "ok" : "short");
  }
  return kept;
}

Status Report::write_markdown(const std::string& file) const {
  SLUICE_LET(text, read_text(file));
  const std::string begin_mark = "<!-- " + name_ + ":begin -->";
  const std::size_t mark = text.find(begin_mark);
  const std::size_t end = text.find("<!-- " + name_ + ":end -->");
  if (mark == std::string::npos || end == std::string::npos || end < mark)
    return error(Code::corrupt, file + " lacks the line " + begin_mark + " and its end");
  const auto table = table_of(rows_);
  std::string fresh = fmt::format("\n{}\n\n", machine());
  for (std::size_t i = 0; i < table.size(); ++i) {
    fresh += fmt::format("| {} |\n", fmt::join(padded(table[i], table), " | "));
    if (i == 0) fresh += "|---|---|---|---|---|\n";
  }
  const std::size_t begin = mark + begin_mark.size();
  text.replace(begin, end - begin, fresh);
  std::ofstream out(file + ".new", std::ios::binary);
  out << text;
  out.close();
  if (!out || std::rename((file + ".new").c_str(), file.c_str()) != 0)
    return error(Code::io_error, "cannot write " + file);
  return {};
}

}  // namespace sluice::bench
