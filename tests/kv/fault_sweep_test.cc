// SPDX-License-Identifier: MIT
// Every write and every sync that a short script makes fails, each in a run of its own: with EIO,
// with ENOSPC, as a short write, or with a kill; once, twice, or from then on. So does every call
// that opens, maps, sizes or locks a file. strace does it to the real program; what the script was
// told must be true afterwards.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <iostream>
#include <map>
#include <mutex>
#include <regex>
#include <sstream>
#include <thread>

#include "tests/kv/actor_path.h"
#include "tests/kv/checked.h"
#include "tests/kv/notes.h"
#include "tests/support/child.h"
#include "tests/support/run_size.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

// What a system call of the script was for.
enum class Role : std::uint8_t { open, data, sync, meta };

struct Site {
  std::string call;  // As strace names it.
  unsigned number = 0;
  Role role = Role::data;
};

struct Fault {
  Site site;
  std::string effect;  // As strace's inject= wants it: "error=EIO", "signal=KILL".
  enum class Span : std::uint8_t { once, twice, always } span = Span::once;

  bool kills() const { return effect == "signal=KILL"; }
  std::string inject() const {
    const std::string first = std::to_string(site.number);
    const std::string when = span == Span::once    ? first
                             : span == Span::twice ? first + ".." + std::to_string(site.number + 1)
                                                   : first + "+";
    return "inject=" + site.call + ":" + effect + ":when=" + when;
  }
};

// What the script said, and what is left.
struct Outcome {
  Exit exit;
  std::vector<std::string> lines;
  Truth truth;
};

Outcome run_script(const TempDir& dir, const std::vector<std::string>& strace_words) {
  std::vector<std::string> words = {"strace", "-f", "-qq"};
  words.insert(words.end(), strace_words.begin(), strace_words.end());
  for (const std::string& word :
       {actor_path(), std::string("script"), dir / "store", dir / "notes"})
    words.push_back(word);
  Child script(words);
  Outcome outcome;
  outcome.lines = script.read_lines();
  outcome.exit = script.wait();
  apply_notes(read_file(dir / "notes"), outcome.truth);
  return outcome;
}

// The sites of an undisturbed run. What the script prints shows in the trace how far it was.
std::vector<Site> find_sites() {
  const TempDir dir;
  const std::string trace = dir / "trace";
  const Outcome outcome = run_script(
      dir, {"-o", trace, "-e",
            "trace=write,pwrite64,writev,pwritev,fdatasync,fsync,openat,mmap,ftruncate,flock,"
            "mkdir,pread64,lseek"});
  EXPECT_TRUE(outcome.exit.clean()) << outcome.exit.to_string();
  std::vector<Site> sites;
  std::map<std::string, unsigned> numbers;
  bool begun = false;
  bool opened = false;
  std::istringstream lines(read_file(trace));
  const std::regex call(R"(^\d+ +(\w+)\()");
  const std::regex meta(R"(, 120, \d+\) += 120)");  // LMDB writes 120 bytes of a meta page.
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (!std::regex_search(line, found, call)) continue;
    const std::string name = found[1];
    begun = begun || line.find("\"begin") != std::string::npos;
    opened = opened || line.find("\"open ok") != std::string::npos;
    const Role working = name.ends_with("sync")          ? Role::sync
                         : std::regex_search(line, meta) ? Role::meta
                                                         : Role::data;
    const unsigned number = ++numbers[name];
    if (begun && name != "write")
      sites.push_back({.call = name, .number = number, .role = opened ? working : Role::open});
  }
  return sites;
}

bool writes(const Site& site) {
  return site.call.find("write") != std::string::npos;
}

bool syncs(const Site& site) {
  return site.call.ends_with("sync");
}

std::vector<Fault> find_faults() {
  using enum Fault::Span;
  std::vector<Fault> faults;
  const std::vector<Site> sites = find_sites();
  for (const Role role : {Role::open, Role::data, Role::sync, Role::meta})
    EXPECT_GE(std::ranges::count(sites, role, &Site::role), 2) << static_cast<int>(role);
  for (const Site& site : sites) {
    faults.push_back({site, "error=EIO", once});
    if (site.call == "mmap") faults.push_back({site, "error=ENOMEM", once});
    if (site.call == "openat") faults.push_back({site, "error=EMFILE", once});
    if (!writes(site) && !syncs(site)) continue;
    faults.push_back({site, "error=EIO", always});
    for (const Fault::Span span : {once, twice, always})
      faults.push_back({site, "error=ENOSPC", span});
    if (writes(site)) faults.push_back({site, "retval=100", once});
    faults.push_back({site, "signal=KILL", once});
  }
  return faults;
}

// The codes of all attempts to open, or of all other calls, in order.
std::vector<std::string> codes_of(const Outcome& outcome, const std::string& call) {
  std::vector<std::string> codes;
  for (const std::string& line : outcome.lines) {
    const std::size_t space = line.find(' ');
    if (space == std::string::npos) continue;
    const bool is_open = line.substr(0, space) == "open";
    if (is_open == (call == "open")) codes.push_back(line.substr(space + 1));
  }
  return codes;
}

bool is_one_of(const std::string& code, const std::vector<std::string>& allowed) {
  return std::ranges::find(allowed, code) != allowed.end();
}

// After the first io_error or commit_unknown every call says io_error.
std::string judge_poison(const std::vector<std::string>& codes) {
  bool poisoned = false;
  for (const std::string& code : codes) {
    if (!is_one_of(code, {"ok", "storage_full", "io_error", "commit_unknown"}))
      return "'" + code + "' is not a code for this";
    if (poisoned && code != "io_error") return "'" + code + "' from a poisoned store";
    poisoned = poisoned || code == "io_error" || code == "commit_unknown";
  }
  return {};
}

// A fault that strikes once has one right answer.
std::string judge_once(const Fault& fault, const Outcome& outcome) {
  const auto opens = codes_of(outcome, "open");
  const auto codes = codes_of(outcome, "work");
  const auto trouble =
      std::ranges::find_if(codes, [](const std::string& code) { return code != "ok"; });
  const std::string first = trouble != codes.end() ? *trouble : "ok";
  if (fault.site.role == Role::open) {
    const bool harmless = opens.size() == 1 && !writes(fault.site);
    if (!harmless && opens.size() != 2) return "open should have failed once";
    if (!is_one_of(opens[0], {harmless ? "ok" : "", "io_error", "storage_full", "unavailable"}))
      return "'" + opens[0] + "' from open";
    return first == "ok" ? "" : "'" + first + "' after the store was opened at last";
  }
  if (fault.site.role == Role::meta)
    return first == "commit_unknown" ? "" : "a failed meta write gave '" + first + "'";
  if (fault.effect != "error=ENOSPC")
    return first == "io_error" ? "" : "an I/O error gave '" + first + "'";
  if (std::ranges::any_of(codes, [](auto& code) { return code != "ok" && code != "storage_full"; }))
    return "a short moment without space gave '" + first + "'";
  return std::ranges::count(codes, "storage_full") <= 1 ? "" : "storage_full more than once";
}

bool all_ok(const Outcome& outcome) {
  return std::ranges::all_of(outcome.lines, [](const std::string& line) {
    return line.find(' ') == std::string::npos || line.ends_with(" ok");
  });
}

// What is wrong about one run; empty if nothing is.
std::string judge(const Fault& fault) {
  const TempDir dir;
  const Outcome outcome =
      run_script(dir, {"-o", "/dev/null", "-e", "trace=" + fault.site.call, "-e", fault.inject()});
  std::string wrong;
  if (fault.kills()) {
    if (outcome.exit.signal != SIGKILL) wrong = "not killed but " + outcome.exit.to_string();
  } else if (!outcome.exit.clean() || outcome.lines.empty() || outcome.lines.back() != "end") {
    wrong = "the script ended with " + outcome.exit.to_string();
  } else {
    wrong = judge_poison(codes_of(outcome, "work"));
    if (wrong.empty() && fault.span == Fault::Span::once) wrong = judge_once(fault, outcome);
    if (wrong.empty() && fault.span == Fault::Span::always && all_ok(outcome))
      wrong = "nothing failed at all";
  }
  if (wrong.empty()) wrong = check_in_child(dir / "store", outcome.truth, 3).to_string();
  if (wrong.empty()) return {};
  for (const std::string& line : outcome.lines) wrong += "\n    " + line;
  return wrong + "\n    run again: strace -f -e " + fault.inject() + " " + actor_path() +
         " script /tmp/swept /tmp/swept.notes";
}

TEST(FaultSweep, every_failing_write_or_sync_is_answered_truly) {
  const std::vector<Fault> faults = find_faults();
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::vector<std::string> wrongs;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 2; ++i)
      threads.emplace_back([&] {
        for (std::size_t at = next++; at < faults.size(); at = next++) {
          const std::string wrong = judge(faults[at]);
          const std::lock_guard lock(mutex);
          if (!wrong.empty()) wrongs.push_back(faults[at].inject() + ": " + wrong);
        }
      });
  }
  for (const std::string& wrong : wrongs) ADD_FAILURE() << wrong;
  print_figure("fault_sweep_sites", faults.size());
  print_figure("fault_sweep_wrong", wrongs.size());
}

}  // namespace
}  // namespace sluice::test
