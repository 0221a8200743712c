// SPDX-License-Identifier: MIT
// Workers that push a job, pop one and complete it, each over a connection of its own.
#pragma once

#include <sluice/result.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"

namespace sluice::bench {

/// One connection, one request after the other.
class Caller {
 public:
  /// "http://127.0.0.1:PORT".
  static Result<Caller> connect(const std::string& url);

  Status send(std::string_view method, std::string_view path, std::string_view body) const;
  /// The body of the answer, which must be 2xx.
  Result<std::string> receive();
  Result<std::string> call(std::string_view method, std::string_view path, std::string_view body);

 private:
  explicit Caller(Descriptor socket) : socket_(std::move(socket)) {}

  Descriptor socket_;
  std::string text_;  // What has come and was not used yet.
};

struct Cycles {
  std::uint64_t count = 0;
  std::vector<double> request_ms = {};  ///< Of each request.
};

/// `workers` threads for `seconds`, on the team kQueue.
Result<Cycles> run_cycles(const std::string& url, unsigned workers, unsigned seconds);

}  // namespace sluice::bench
