// SPDX-License-Identifier: MIT
// Puts a backup in the place of a store that nobody has open.
#include <fcntl.h>
#include <sluice/kv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include "kv/lmdb/alone.h"
#include "kv/lmdb/copy_file.h"
#include "kv/lmdb/create_store.h"
#include "kv/lmdb/shared_file.h"

namespace sluice::kv {
namespace {

constexpr std::string_view kPutAside = "old-";

bool is_there(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

Status cannot(std::string_view doing, const std::string& path) {
  return lmdb_status(errno, std::string("cannot ").append(doing).append(" ").append(path));
}

/// As 20260102T030405Z.
std::string time_text(WallTime time) {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
  const auto moment = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&moment, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts)};
}

/// The highest epoch of the store in `dir` and of those that were put aside there.
Result<std::uint16_t> highest_epoch(const std::string& dir, std::uint16_t epoch) {
  const auto look = [&](const std::string& path) -> Status {
    if (!is_there(path)) return {};
    SLUICE_LET(header, header_in(path));
    epoch = std::max(epoch, header.epoch);
    return {};
  };
  SLUICE_TRY(look(dir + "/data.mdb"));
  std::error_code problem;
  for (std::filesystem::directory_iterator it(dir, problem), end; !problem && it != end;
       it.increment(problem))
    if (it->path().filename().string().starts_with(kPutAside))
      SLUICE_TRY(look(it->path().string() + "/data.mdb"));
  if (problem) return Failure{lmdb_status(problem.value(), "cannot read " + dir)};
  return epoch;
}

class Restore {
 public:
  explicit Restore(const RestoreOptions& options) : options_(options), dir_(options.dir) {}

  Result<Restored> run() {
    SLUICE_TRY(check_backup());
    SLUICE_TRY(make_directory());
    constexpr std::string_view kAdvice = "stop every program that uses it, then restore again";
    SLUICE_LET(alone, Alone::take(dir_, kAdvice));
    const bool there = is_there(data());
    if (there && !options_.replace)
      return error(Code::already_exists,
                   "there is a store in " + dir_ +
                       ": restore to another folder, or replace it, which puts it aside");
    SLUICE_LET(of_backup, header_in(options_.backup + "/data.mdb"));
    SLUICE_LET(highest, highest_epoch(dir_, of_backup.epoch));
    SLUICE_LET(epoch, draw_epoch_above(highest));
    restored_.epoch = epoch;
    SLUICE_TRY(write_new());
    SLUICE_TRY(continue_time(alone->bell()));
    if (there) SLUICE_TRY(put_aside());
    if (std::rename(unfinished().c_str(), data().c_str()) != 0)
      return Failure{cannot("name", data())};
    SLUICE_TRY(sync_names(dir_));
    return restored_;
  }

 private:
  std::string data() const { return dir_ + "/data.mdb"; }
  std::string unfinished() const { return data() + ".new"; }

  Status check_backup() const {
    if (options_.backup.empty() || dir_.empty())
      return error(Code::invalid_argument, "a restore needs a backup and a folder");
    if (!is_there(options_.backup + "/data.mdb"))
      return error(Code::not_found, "there is no backup in " + options_.backup +
                                        ": name the folder that holds data.mdb");
    std::error_code problem;
    if (std::filesystem::equivalent(options_.backup, dir_, problem))
      return error(Code::invalid_argument,
                   "the backup is in " + dir_ + " itself: name the folder of the store");
    return {};
  }

  Status make_directory() {
    if (mkdir(dir_.c_str(), 0700) != 0 && errno != EEXIST) return cannot("make the folder", dir_);
    struct stat info{};
    if (stat(dir_.c_str(), &info) != 0) return cannot("look at", dir_);
    // Who may read and write the directory; nobody may execute a file, and strangers may nothing.
    owner_ = {.uid = info.st_uid, .gid = info.st_gid, .mode = 0600 | (info.st_mode & 0060)};
    return {};
  }

  Status give(int fd) const { return give_to(fd, owner_, "the owner of " + dir_); }

  Status write_new() {
    ::unlink(unfinished().c_str());  // What a crash has left of an earlier try.
    Status status = copy_backup();
    if (status.ok()) status = settle_in(unfinished(), restored_.epoch);
    if (!status.ok()) ::unlink(unfinished().c_str());
    return status;
  }

  Status copy_backup() const {
    SLUICE_LET(alone,
               Alone::take(options_.backup, "it is no backup then: make one, and name that"));
    (void)alone;  // Until the end.
    SLUICE_LET(env, open_file(options_.backup + "/data.mdb"));
    SLUICE_TRY(open_database(env.get(), options_.backup));
    SLUICE_LET(fd, make_file(unfinished()));
    const Descriptor file(fd);
    SLUICE_TRY(give(fd));
    return write_copy(env.get(), fd, unfinished());
  }

  /// The time of the restored store goes on after what the backup, and the store that was here,
  /// have told. Harmless if the old store stays.
  Status continue_time(int bell) const {
    const std::string path = dir_ + "/bell";
    const Descriptor from(
        ::open((options_.backup + "/bell").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (bell >= 0) return SharedFile::adopt(from.get(), bell, path);
    const Descriptor made(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (made.get() < 0) return cannot("make", path);
    SLUICE_TRY(give(made.get()));
    return SharedFile::adopt(from.get(), made.get(), path);
  }

  /// The old store gets a second name; its first one goes when the new store takes it.
  Status put_aside() {
    const std::string name =
        dir_ + "/" + std::string(kPutAside) + time_text(options_.clock->wall());
    std::string folder = name;
    for (int number = 2; mkdir(folder.c_str(), 0700) != 0; ++number) {
      if (errno != EEXIST || number > 100) return cannot("make the folder", folder);
      folder = name + "-" + std::to_string(number);
    }
    const Descriptor made(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat info{};
    if (made.get() < 0 || stat(dir_.c_str(), &info) != 0) return cannot("open", folder);
    SLUICE_TRY(give_to(made.get(),
                       {.uid = owner_.uid, .gid = owner_.gid, .mode = info.st_mode & 07777},
                       "the owner of " + dir_));
    if (link(data().c_str(), (folder + "/data.mdb").c_str()) != 0)
      return cannot("put aside the store in", dir_);
    SLUICE_TRY(sync_directory(folder));
    SLUICE_TRY(sync_directory(dir_));
    restored_.put_aside = folder;
    return {};
  }

  const RestoreOptions& options_;
  const std::string& dir_;
  Ownership owner_ = {};
  Restored restored_ = {};
};

}  // namespace

Result<Restored> restore_lmdb(const RestoreOptions& options) {
  return Restore(options).run();
}

}  // namespace sluice::kv
