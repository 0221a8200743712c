// SPDX-License-Identifier: MIT
#include "kv/lmdb/copy_target.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "kv/lmdb/copy_file.h"
#include "kv/lmdb/create_store.h"

namespace sluice::kv {
namespace {

Failure taken(const std::string& dir) {
  return error(Code::already_exists,
               dir + " is not an empty directory: name one that is, or that does not exist");
}

}  // namespace

CopyTarget::CopyTarget(std::string dir, bool made, int door)
    : dir_(std::move(dir)), door_(door), made_(made) {}

Result<std::unique_ptr<CopyTarget>> CopyTarget::make(const std::string& dir) {
  if (dir.empty()) return error(Code::invalid_argument, "a copy needs a directory");
  const bool made = mkdir(dir.c_str(), 0700) == 0;
  if (!made && errno != EEXIST)
    return Failure{lmdb_status(errno, "cannot make the directory " + dir)};
  std::unique_ptr<CopyTarget> target(
      new CopyTarget(dir, made, ::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (target->door_.get() < 0) {
    if (errno == ENOTDIR) return taken(dir);
    return Failure{lmdb_status(errno, "cannot open " + dir)};
  }
  // Some network file systems cannot lock a directory; nor can a store be opened there.
  if (flock(target->door_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return taken(dir);
  SLUICE_TRY(target->check_empty());
  return target;
}

Status CopyTarget::check_empty() const {
  std::error_code failed;
  const bool empty = std::filesystem::is_empty(dir_, failed);
  if (failed) return lmdb_status(failed.value(), "cannot read " + dir_);
  return empty ? Status() : taken(dir_);
}

CopyTarget::~CopyTarget() {
  if (writing_) {
    for (const std::string& path : {data(), unfinished(), dir_ + "/bell"}) ::unlink(path.c_str());
  }
  if (made_) ::rmdir(dir_.c_str());
}

Status CopyTarget::write_data(const Environment& environment) {
  SLUICE_LET(fd, make_file(unfinished()));
  const Descriptor file(fd);
  writing_ = true;
  return write_copy(environment.get(), fd, unfinished());
}

Status CopyTarget::finish() {
  if (std::rename(unfinished().c_str(), data().c_str()) != 0)
    return lmdb_status(errno, "cannot name " + data());
  SLUICE_TRY(sync_names(dir_));
  writing_ = made_ = false;
  return {};
}

}  // namespace sluice::kv
