// SPDX-License-Identifier: MIT
// Replaces the data file of a store that nobody has open.
#include <sluice/kv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "kv/lmdb/alone.h"
#include "kv/lmdb/copy_file.h"
#include "kv/lmdb/create_store.h"

namespace sluice::kv {
namespace {

// Whoever compacts a store may be another user (root), but leaves it to its own.
Status keep_owner(const std::string& from, int to) {
  struct stat old{};
  if (stat(from.c_str(), &old) != 0) return lmdb_status(errno, "cannot look at " + from);
  return give_to(to, {.uid = old.st_uid, .gid = old.st_gid, .mode = old.st_mode & 07777},
                 "the owner of " + from);
}

Status write_anew(const std::string& data, const std::string& unfinished, const std::string& dir) {
  SLUICE_LET(env, open_file(data));
  SLUICE_TRY(open_database(env.get(), dir));
  SLUICE_LET(fd, make_file(unfinished));
  const Descriptor file(fd);
  SLUICE_TRY(keep_owner(data, fd));
  SLUICE_TRY(write_copy(env.get(), fd, unfinished));
  // The store goes on in this file: that makes it no copy.
  SLUICE_LET(header, header_in(unfinished));
  return settle_in(unfinished, header.epoch);
}

Status rewrite(const std::string& dir) {
  const std::string data = dir + "/data.mdb";
  const std::string unfinished = data + ".new";
  ::unlink(unfinished.c_str());  // What a crash has left of an earlier try.
  Status status = write_anew(data, unfinished, dir);
  if (status.ok() && std::rename(unfinished.c_str(), data.c_str()) != 0)
    status = lmdb_status(errno, "cannot replace " + data);
  if (status.ok()) return sync_directory(dir);
  ::unlink(unfinished.c_str());
  return status;
}

}  // namespace

Status compact_lmdb(const LmdbOptions& options) {
  SLUICE_LET(alone,
             Alone::take(options.dir, "stop every program that uses it, then compact it again"));
  (void)alone;  // Until the end.
  return rewrite(options.dir);
}

}  // namespace sluice::kv
