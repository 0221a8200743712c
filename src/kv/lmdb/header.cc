// SPDX-License-Identifier: MIT
#include "kv/lmdb/header.h"

#include <fcntl.h>
#include <sluice/random.h>
#include <sys/stat.h>

#include <cerrno>

#include "codec/record.h"
#include "kv/lmdb/environment.h"

namespace sluice::kv {
namespace {

constexpr codec::RecordFormat kHeader{.type = 'H', .major = 1, .minor = 1, .field_max = 3};
constexpr unsigned kEpoch = 1;
constexpr unsigned kInode = 2;
constexpr unsigned kBorn = 3;

}  // namespace

Result<FileIdentity> identity_of(int fd, const std::string& path) {
  struct statx info{};
  if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &info) != 0)
    return Failure{lmdb_status(errno, "cannot look at " + path)};
  FileIdentity identity{.inode = info.stx_ino};
  if ((info.stx_mask & STATX_BTIME) != 0)
    identity.born_ns =
        static_cast<std::uint64_t>(info.stx_btime.tv_sec) * 1'000'000'000 + info.stx_btime.tv_nsec;
  return identity;
}

Result<StoreHeader> read_header(MDB_txn* txn, MDB_dbi dbi, const std::string& name) {
  MDB_val key = to_val(kHeaderKey);
  MDB_val value{};
  const int rc = mdb_get(txn, dbi, &key, &value);
  if (rc == MDB_NOTFOUND)
    return error(Code::invalid_argument, name + "/data.mdb is an LMDB file of another program");
  SLUICE_TRY(lmdb_status(rc, "cannot read the store's header"));
  auto record = codec::RecordReader::open(to_view(value), kHeader);
  if (!record) return Failure{record.error().with("the store's header")};
  SLUICE_LET(epoch, record->u64(kEpoch));
  StoreHeader header{.epoch = static_cast<std::uint16_t>(epoch)};
  if (!record->has(kInode)) return header;
  SLUICE_LET(inode, record->u64(kInode));
  SLUICE_LET(born, record->u64_or(kBorn, 0));
  header.file = FileIdentity{.inode = inode, .born_ns = born};
  return header;
}

int put_header(MDB_txn* txn, MDB_dbi dbi, const StoreHeader& header) {
  codec::RecordWriter record(kHeader);
  record.field(kEpoch, header.epoch);
  if (header.file) record.field(kInode, header.file->inode).field(kBorn, header.file->born_ns);
  MDB_val key = to_val(kHeaderKey);
  MDB_val value{};
  if (mdb_get(txn, dbi, &key, &value) == 0) {
    const auto old = codec::RecordReader::open(to_view(value), kHeader);
    if (old) record.keep_newer(*old);
  }
  const std::string bytes = record.finish();
  value = to_val(bytes);
  return mdb_put(txn, dbi, &key, &value, 0);
}

Result<std::uint16_t> draw_epoch_above(std::uint16_t epoch) {
  const auto step = 1 + SystemRandom().below(kEpochStepMax);
  if (step > UINT16_MAX - std::uint64_t{epoch})
    return error(Code::limit_exceeded,
                 "the store has reached its last epoch: export its jobs, and import them into a "
                 "new store");
  return static_cast<std::uint16_t>(epoch + step);
}

}  // namespace sluice::kv
