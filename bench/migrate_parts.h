// SPDX-License-Identifier: MIT
// The parts of bench_migrate.
#pragma once

#include <string>
#include <vector>

#include "parts.h"

namespace sluice::bench {

/// Two trees with some differences, beside rsync, rclone and a bare walk of both.
Status measure_pair(const Part& part);
/// A million files: memory, size of the ledger, threads, going on after a kill.
Status measure_million(const Part& part);
/// One directory with a million names: memory.
Status measure_wide(const Part& part);
/// Directories in one another, where nothing can be done at the same time.
Status measure_chain(const Part& part);
/// Small and large files into an empty destination, beside cp, rsync and rclone.
Status measure_copy(const Part& part);
/// Trees that cost nothing to list, and one that is slow to answer.
Status measure_sim(const Part& part);

// Other processes of the benchmark, as hidden commands. What needs memory is done by them: this
// process must stay smaller than those whose memory it measures.

/// Arguments: SRC DST THREADS. Compares the two as sluice-migrate does, but keeps nothing, and
/// writes how many names differ.
inline constexpr const char* kWalkerCommand = "child-walker";
Status walker_process(const std::vector<std::string>& args);

/// Makes trees; the same arguments, the same trees. None of the folders may be there. Arguments:
///   pair SRC DST FOLDERS FILES   so many of both on SRC, ten levels deep at most, and a DST in
///                                which about one file in twenty is different
///   chain SRC DST DEPTH          folders in one another, the same on both sides
///   files SRC FOLDERS FILES BYTES  so many files of that size altogether, with content
inline constexpr const char* kGrowCommand = "child-grow";
Status grow_process(const std::vector<std::string>& args);

}  // namespace sluice::bench
