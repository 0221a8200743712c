// SPDX-License-Identifier: MIT
// Where things lie beside the store: DIR/locks, and one file of output per run below DIR/logs.
#pragma once

#include <sluice/job.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::worker {

/// What every process of a run was started with: the run, by the identity of the lock file and the
/// token. A copy of the store has another lock file, so its workers never take the runs of the
/// original for those of their own.
inline constexpr std::string_view kRunVariable = "QUEUECTL_RUN";

std::string lock_path(const std::string& dir);
std::string log_root(const std::string& dir);
/// DIR/logs/XX/NUMBER.CLAIM, where XX spreads the files over 256 folders.
std::string log_path(const std::string& dir, const queue::Token& token);

/// DIR/runs/NAME: see run_book.h.
std::string run_book_path(const std::string& dir, std::string_view worker);

/// The places in the lock file. A worker holds its own for as long as it lives; the processes of a
/// run hold that of their job, which therefore never runs twice at once.
std::uint64_t worker_place(std::string_view worker);
std::uint64_t job_place(const kv::Mark& number);

/// Registered workers whose name begins with this hold their place in the lock file; others are
/// of other programs.
inline constexpr std::string_view kWorkerPrefix = "queuectl/";
/// Without that prefix, for people.
std::string_view short_name(std::string_view worker);
/// A name of its own for this process: the prefix, host, pid, and chance.
std::string new_worker_name();

}  // namespace sluice::worker
