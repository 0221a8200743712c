// SPDX-License-Identifier: MIT
// A server in a process of its own, and the load that wrk puts on it.
#pragma once

#include <sluice/result.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bench.h"
#include "program.h"

namespace sluice::bench {

struct Load {
  std::string script = {};  ///< Lua, what wrk sends.
  unsigned connections = 64;
  unsigned seconds = 5;
};

struct Served {
  std::uint64_t requests = 0;
  double wall_seconds = 0;
  double cpu_seconds = 0;  ///< Of the server.

  double per_second() const { return static_cast<double>(requests) / wall_seconds; }
  double cpu_us_each() const { return cpu_seconds * 1e6 / static_cast<double>(requests); }
};

/// A server in a process of its own. It is killed if it still runs when this object goes.
struct Server {
  Process process;
  std::string url;

  /// `words` prints "listening on URL" first; `dir` is for what it prints.
  static Result<Server> start(const std::string& dir, const std::vector<std::string>& words);
  /// Ends it with SIGTERM.
  Result<Cost> stop();
};
/// The sluiced beside this program, on the store in `data`.
Result<Server> start_sluiced(const std::string& dir, const std::string& data);

/// Puts the load on a server that runs; its CPU time is not known. `dir` is for files. Fails if an
/// answer is not 2xx.
Result<Served> run_wrk(const std::string& dir, const std::string& url, const Load& load);

/// Starts the server `words`, which prints "listening on URL" first, puts the load on it, and ends
/// it with SIGTERM. `dir` is for what it prints. Fails if an answer is not 2xx.
Result<Served> serve_load(const std::string& dir, const std::vector<std::string>& words,
                          const Load& load);

/// A new directory, as an absolute path.
Result<std::string> make_dir(const ScratchDir& scratch, const std::string& name);

/// The path of a program beside this one.
Result<std::string> program_beside(const std::string& name);

}  // namespace sluice::bench
