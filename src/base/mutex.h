// SPDX-License-Identifier: MIT
// A mutex that clang's thread-safety analysis understands. Every mutable field that several threads
// touch names its mutex with SLUICE_GUARDED_BY; clang then refuses code that forgets to lock.
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define SLUICE_ANNOTATE(attribute) __attribute__((attribute))
#else
#define SLUICE_ANNOTATE(attribute)
#endif
#define SLUICE_GUARDED_BY(mutex) SLUICE_ANNOTATE(guarded_by(mutex))

namespace sluice {

class SLUICE_ANNOTATE(capability("mutex")) Mutex {
 public:
  void lock() SLUICE_ANNOTATE(acquire_capability()) { mutex_.lock(); }
  void unlock() SLUICE_ANNOTATE(release_capability()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

/// Holds a Mutex for a scope; may be released and taken again in between.
class SLUICE_ANNOTATE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) SLUICE_ANNOTATE(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
    held_ = true;
  }
  ~MutexLock() SLUICE_ANNOTATE(release_capability()) {
    if (held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() SLUICE_ANNOTATE(acquire_capability()) {
    mutex_.lock();
    held_ = true;
  }
  void unlock() SLUICE_ANNOTATE(release_capability()) {
    held_ = false;
    mutex_.unlock();
  }

 private:
  Mutex& mutex_;
  bool held_ = false;
};

}  // namespace sluice
