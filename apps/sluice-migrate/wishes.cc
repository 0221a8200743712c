// SPDX-License-Identifier: MIT
#include "sluice-migrate/wishes.h"

#include <algorithm>
#include <limits>
#include <thread>

#include "cli/size.h"
#include "cli/visible.h"
#include "migrate/filter.h"
#include "sluice-migrate/commands.h"

namespace sluice::cli {
namespace {

constexpr std::int64_t kThreadsMax = 1024;
constexpr std::uint64_t kMemoryBytesMin = std::uint64_t{16} << 20;
constexpr std::int64_t kRetriesMax = 1'000'000;
constexpr std::int64_t kLeadMax = 1'000'000;

/// One of the words, or the first if the option is not there.
Result<std::size_t> one_of(const Arguments& arguments, std::string_view name,
                           std::initializer_list<std::string_view> words) {
  const auto given = arguments.text(name);
  if (!given) return std::size_t{0};
  const auto found = std::ranges::find(words, *given);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  std::string allowed;
  for (const std::string_view word : words)
    allowed.append(allowed.empty() ? "" : ", ").append(word);
  return error(Code::invalid_argument,
               std::string(name) + " is " + in_quotes(*given) + ": it must be one of " + allowed);
}

Result<unsigned> read_threads(const Arguments& arguments) {
  SLUICE_LET(threads, arguments.number("--threads", 1, kThreadsMax));
  const unsigned cores = std::max(std::thread::hardware_concurrency(), 1U);
  return threads ? static_cast<unsigned>(*threads) : cores;
}

Result<migrate::Settings> read_rules(const Arguments& arguments) {
  migrate::Settings settings;
  migrate::CompareRules& rules = settings.rules;
  rules.size_only = arguments.has("--size-only");
  rules.checksum = arguments.has("--checksum");
  if (rules.size_only && rules.checksum)
    return error(Code::invalid_argument,
                 "--size-only and --checksum contradict each other: choose one");
  SLUICE_LET(window, arguments.duration("--mtime-window"));
  rules.window_ns = window.value_or(Duration{}).count();
  rules.owners = !arguments.has("--no-owner");
  rules.modes = !arguments.has("--no-mode");
  SLUICE_LET(newer, one_of(arguments, "--newer", {"overwrite", "keep"}));
  rules.newer = newer == 0 ? migrate::NewerPolicy::overwrite : migrate::NewerPolicy::keep;
  settings.filters = arguments.all("--exclude");
  std::vector<migrate::Filter> filters;
  for (const std::string& glob : settings.filters) filters.push_back({.glob = glob});
  if (const auto made = migrate::Filters::make(filters); !made)
    return Failure{made.error().with("--exclude")};
  settings.one_file_system = arguments.has("--one-file-system");
  return settings;
}

Result<migrate::GateRules> read_gate(const Arguments& arguments) {
  SLUICE_LET(lead, arguments.number("--lead", 0, kLeadMax));
  SLUICE_LET(most, arguments.number("--max-lead", 0, kLeadMax));
  if (most && !lead)
    return error(Code::invalid_argument, "--max-lead means something only with --lead");
  migrate::GateRules gate;
  if (!lead) return gate;
  gate.lead = static_cast<std::uint32_t>(*lead);
  gate.lead_max = std::max(gate.lead_max, *gate.lead);
  if (most && *most < *lead)
    return error(Code::invalid_argument, "--max-lead must be at least --lead");
  if (most) gate.lead_max = static_cast<std::uint32_t>(*most);
  return gate;
}

/// What each thread may keep of a listing. It needs about three times as much to grow and to sort
/// it; the ledger has a quarter of the memory, and the rest is for what is on its way there.
std::size_t listing_bytes(std::uint64_t memory, unsigned threads) {
  constexpr std::uint64_t kLeast = std::uint64_t{256} << 10;
  return std::max(memory / 8 / threads, kLeast);
}

}  // namespace

Result<std::uint64_t> read_memory(const Arguments& arguments) {
  const auto text = arguments.text("--memory");
  if (!text) return kMemoryBytes;
  const auto bytes = parse_size(*text);
  if (!bytes) return Failure{bytes.error().with("--memory")};
  if (*bytes < kMemoryBytesMin)
    return error(Code::invalid_argument,
                 "--memory is " + in_quotes(*text) + ": it must be at least 16M");
  return *bytes;
}

Result<CompareWish> read_compare_wish(const Arguments& arguments) {
  const std::vector<std::string> words = operands(arguments);
  if (words.empty() || words[0].empty())
    return error(Code::invalid_argument, "say what to compare: SRC DST");
  if (words.size() < 2 || words[1].empty())
    return error(Code::invalid_argument,
                 "say what to compare " + in_quotes(words[0]) + " with: DST is missing");
  if (words.size() > 2)
    return error(Code::invalid_argument,
                 "there are two trees, SRC and DST; " + in_quotes(words[2]) + " is one too many");
  CompareWish wish{.src = words[0], .dst = words[1], .again = arguments.has("--again")};
  SLUICE_LET(settings, read_rules(arguments));
  wish.settings = std::move(settings);
  SLUICE_LET(threads, read_threads(arguments));
  wish.traversal.threads = threads;
  SLUICE_LET(memory, read_memory(arguments));
  wish.traversal.listing_bytes_max = listing_bytes(memory, threads);
  SLUICE_LET(retries, arguments.number("--retries", 0, kRetriesMax));
  // The first attempt is no retry.
  wish.traversal.attempts_max = static_cast<std::uint32_t>(retries.value_or(3)) + 1;
  SLUICE_LET(gate, read_gate(arguments));
  wish.traversal.gate = gate;
  return wish;
}

Result<CopyWish> read_copy_wish(const Arguments& arguments) {
  CopyWish wish{.dry_run = arguments.has("--dry-run")};
  SLUICE_TRY(read_memory(arguments));
  SLUICE_LET(threads, read_threads(arguments));
  wish.options.threads = threads;
  wish.options.remove = arguments.has("--delete");
  SLUICE_LET(most, arguments.number("--max-delete", 0, std::numeric_limits<std::int64_t>::max()));
  if (most && !wish.options.remove)
    return error(Code::invalid_argument, "--max-delete means something only with --delete");
  if (most) wish.options.remove_max = static_cast<std::uint64_t>(*most);
  if (const auto limit = arguments.text("--bwlimit")) {
    const auto size = parse_size(*limit);
    if (!size) return Failure{size.error().with("--bwlimit")};
    wish.options.bytes_per_second = *size;
  }
  wish.options.verify = arguments.has("--verify");
  wish.options.sync = !arguments.has("--no-sync");
  return wish;
}

Result<TellingWish> read_telling_wish(const Arguments& arguments) {
  TellingWish wish{.quiet = arguments.has("--quiet"), .json = arguments.has("--json")};
  SLUICE_LET(mode, one_of(arguments, "--progress", {"auto", "always", "never"}));
  wish.progress = static_cast<ProgressMode>(mode);
  if (wish.quiet) wish.progress = ProgressMode::never;
  return wish;
}

// ----------------------------------------------------------------------------------------- tables

Option threads_option() {
  return {.name = "--threads",
          .value = "N",
          .help = "how many directories or files at once (default: one per core)"};
}

Option memory_option() {
  return {
      .name = "--memory", .value = "SIZE", .help = "how much memory to use, about (default 64M)"};
}

std::vector<Option> compare_options() {
  const auto on = [](std::string_view name, std::string_view help) {
    return Option{.name = name, .value = "", .help = help, .takes = Takes::nothing};
  };
  const auto with = [](std::string_view name, std::string_view value, std::string_view help) {
    return Option{.name = name, .value = value, .help = help};
  };
  Option exclude = with("--exclude", "GLOB", "leave out what matches (a name, or a path with a /)");
  exclude.repeats = true;
  return {
      on("--size-only", "files of the same size are the same"),
      on("--checksum", "read the files and compare their contents"),
      with("--mtime-window", "DUR", "times this far apart are the same (default 0)"),
      on("--no-owner", "owner and group do not count, and are not set"),
      on("--no-mode", "the mode does not count, and is not set"),
      with("--newer", "WHAT", "overwrite or keep what is newer on DST (default overwrite)"),
      exclude,
      on("--one-file-system", "leave out what is mounted below the roots"),
      with("--retries", "N", "try a directory so often again after an error (default 3)"),
      with("--lead", "N", "keep DST N levels behind SRC (default: no levels)"),
      with("--max-lead", "M", "with --lead: SRC at most M levels ahead (default 10)"),
      on("--again", "list everything again, as after retry --all"),
  };
}

std::vector<Option> copy_options() {
  const auto on = [](std::string_view name, std::string_view help) {
    return Option{.name = name, .value = "", .help = help, .takes = Takes::nothing};
  };
  const auto with = [](std::string_view name, std::string_view value, std::string_view help) {
    return Option{.name = name, .value = value, .help = help};
  };
  return {
      on("--delete", "remove from DST what is not on SRC"),
      with("--max-delete", "N", "remove at most N entries, over all runs on this ledger"),
      with("--bwlimit", "SIZE", "copy at most so much per second, as 10M"),
      on("--dry-run", "print the plan, itemised; change nothing"),
      on("--verify", "read back what was written, and compare"),
      on("--no-sync", "do not wait until files are on the disk"),
  };
}

std::vector<Option> telling_options() {
  return {
      {.name = "--quiet",
       .letter = 'q',
       .value = "",
       .help = "print no summary, progress or notes",
       .takes = Takes::nothing},
      {.name = "--json",
       .value = "",
       .help = "the summary as a JSON object",
       .takes = Takes::nothing},
      {.name = "--progress", .value = "WHEN", .help = "auto, always or never (default auto)"},
  };
}

std::vector<Option> joined(std::initializer_list<std::vector<Option>> lists) {
  std::vector<Option> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace sluice::cli
