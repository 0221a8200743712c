// SPDX-License-Identifier: MIT
// LMDB without Sluice, opened as Sluice opens it: what the benchmarks' bare loops stand on.
#pragma once

#include <lmdb.h>
#include <sluice/result.h>

#include <string>

namespace sluice::bench {

/// Success, or `io_error` with LMDB's own text.
Status lmdb_failed(int rc);

/// An environment with one open database, in a directory of its own.
class LmdbPeer {
 public:
  LmdbPeer(const LmdbPeer&) = delete;
  LmdbPeer& operator=(const LmdbPeer&) = delete;

 protected:
  LmdbPeer() = default;
  ~LmdbPeer();
  /// Makes `dir`, which must not exist.
  Status open_in(const std::string& dir);

  MDB_env* env_ = nullptr;
  MDB_dbi dbi_ = 0;
};

}  // namespace sluice::bench
