// SPDX-License-Identifier: MIT
// What the options of compare, run and copy ask for.
#pragma once

#include <sluice/result.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cli/args.h"
#include "migrate/copying.h"
#include "migrate/ledger.h"
#include "migrate/traversal.h"

namespace sluice::cli {

/// When progress is told on standard error.
enum class ProgressMode : std::uint8_t {
  automatic,  ///< A line on a terminal; elsewhere a plain line every few seconds.
  always,     ///< Also at the end, and elsewhere.
  never,
};

/// How it is told what happens.
struct TellingWish {
  ProgressMode progress = ProgressMode::automatic;
  bool quiet = false;
  bool json = false;
};

struct CompareWish {
  std::string src = {};  ///< As written.
  std::string dst = {};
  migrate::Settings settings = {};  ///< Without the roots.
  migrate::TraversalOptions traversal = {};
  bool again = false;
};

struct CopyWish {
  migrate::CopyOptions options = {};
  bool dry_run = false;
};

inline constexpr std::uint64_t kMemoryBytes = std::uint64_t{64} << 20;  ///< Unless told otherwise.

/// `invalid_argument` names the option and what is allowed.
Result<CompareWish> read_compare_wish(const Arguments& arguments);
Result<CopyWish> read_copy_wish(const Arguments& arguments);
Result<TellingWish> read_telling_wish(const Arguments& arguments);

/// What --memory asks for, in bytes.
Result<std::uint64_t> read_memory(const Arguments& arguments);

/// For the tables of commands.
std::vector<Option> compare_options();
std::vector<Option> copy_options();
std::vector<Option> telling_options();
Option threads_option();
Option memory_option();

/// Several lists as one.
std::vector<Option> joined(std::initializer_list<std::vector<Option>> lists);

}  // namespace sluice::cli
