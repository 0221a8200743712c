// SPDX-License-Identifier: MIT
// The small file beside the data that the processes of one store share: doorbells and the gate.
#pragma once

#include <pthread.h>
#include <sluice/result.h>

#include <memory>
#include <string>

#include "kv/bells.h"

namespace sluice::kv {

/// A mapping of `DIR/bell`. Its content is worth nothing once no process has the store open, so it
/// is never synced, and the first process to open it starts it afresh.
class SharedFile {
 public:
  static Result<std::unique_ptr<SharedFile>> open(const std::string& dir);
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  BellWords& bell_words();

  /// The gate makes writers of several processes take turns. LMDB's own write lock is not fair: a
  /// process that releases it and wants it back at once usually wins over one that must first wake
  /// up. Whoever wants the write lock waits for it while holding the gate, so the last owner queues
  /// behind. A process killed while it holds the gate does not block the others.
  void lock_gate();
  void unlock_gate();

 private:
  struct Layout;
  SharedFile(int fd, Layout* layout) : fd_(fd), layout_(layout) {}

  int fd_;
  Layout* layout_;
};

}  // namespace sluice::kv
