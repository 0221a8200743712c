// SPDX-License-Identifier: MIT
// The small file beside the data that the processes of one store share: doorbells, the gate and the
// time.
#pragma once

#include <pthread.h>
#include <sluice/clock.h>
#include <sluice/result.h>

#include <memory>
#include <string>

#include "kv/bells.h"
#include "kv/lmdb/descriptor.h"

namespace sluice::kv {

/// A mapping of `DIR/bell`. The first process to open it starts it afresh, all but one number: the
/// latest time that anybody can have been told, so that time does not run backwards. It is never
/// synced: that number outlives every process, but not always a power cut.
class SharedFile {
 public:
  /// `clock` outlives the object.
  static Result<std::unique_ptr<SharedFile>> open(const std::string& dir, const Clock& clock);
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  BellWords& bell_words();

  /// Store time, as Store::now() promises it. Reads the clock and two words; once in about 100
  /// microseconds one of the callers also writes one.
  WallTime now() const;

  /// The largest transaction number that was ever noted; 0 if none was. After a power cut the last
  /// ones may be missing.
  std::uint64_t last_commit() const;
  /// The commit with this number is durable.
  void note_commit(std::uint64_t transaction) const;

  /// Writes the file of a copy of the store in `dir`, which must have none: the latest time that
  /// anybody was told, so that the copy's does not run backwards. Synced, but for its name.
  Status copy_time_to(const std::string& dir) const;

  /// For a store that nobody has open: the file `to`, which may be empty, from now on belongs to a
  /// data file with which it has nothing in common but the time, which it continues. `from` is the
  /// file beside that data file; below zero if there is none.
  static Status adopt(int from, int to, const std::string& path);

  /// The gate makes writers of several processes take turns. LMDB's own write lock is not fair: a
  /// process that releases it and wants it back at once usually wins over one that must first wake
  /// up. Whoever wants the write lock waits for it while holding the gate, so the last owner queues
  /// behind. A process killed while it holds the gate does not block the others.
  void lock_gate();
  void unlock_gate();

 private:
  struct Layout;
  SharedFile(int fd, const Clock& clock) : file_(fd), clock_(clock) {}
  Status map(const std::string& path);
  void start();
  void tell_until(std::int64_t time_ns) const;

  const Descriptor file_;
  const Clock& clock_;
  Layout* layout_ = nullptr;
};

}  // namespace sluice::kv
