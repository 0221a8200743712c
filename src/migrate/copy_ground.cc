// SPDX-License-Identifier: MIT
#include "migrate/copy_ground.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>

#include "migrate/temp_name.h"
#include "migrate/tree.h"

namespace sluice::migrate {
namespace {

Failure root_failure(const std::string& doing, int error) {
  const std::string message = doing + ": " + errno_name(error);
  switch (error) {
    case EACCES:
    case EPERM:
    case EROFS:
      return sluice::error(Code::permission_denied, message + "; let this account write there");
    case ENOENT:
    case ENOTDIR:
      return sluice::error(Code::not_found,
                           message + "; check that what it is on is mounted, then copy again");
    default:
      return sluice::error(Code::io_error, message + "; find the cause, then copy again");
  }
}

Result<Descriptor> open_root(const std::string& path) {
  Descriptor root(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return root_failure("cannot open " + path, errno);
  return root;
}

}  // namespace

Result<std::unique_ptr<CopyGround>> CopyGround::open(kv::Store& store, const Options& options) {
  auto ground = std::make_unique<CopyGround>(store, options);
  const Settings& settings = options.settings;
  if (settings.src.starts_with("sim:") || settings.dst.starts_with("sim:"))
    return error(Code::invalid_argument, "simulated trees can be compared, but not be copied");
  SLUICE_LET(src, open_root(settings.src));
  // Its attributes come last, as those of all folders.
  if (::mkdir(settings.dst.c_str(), 0700) != 0 && errno != EEXIST)
    return root_failure("cannot make " + settings.dst, errno);
  SLUICE_LET(dst, open_root(settings.dst));
  ground->src = std::move(src);
  ground->dst = std::move(dst);
  std::vector<Filter> filters;
  for (const std::string& glob : settings.filters) filters.push_back({.glob = glob});
  SLUICE_LET(made, Filters::make(filters));
  ground->filters = std::move(made);
  SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(rows, reader.scan(keys::exclusions()));
    for (const kv::KeyValue& row : rows) {
      SLUICE_LET(key, keys::parse_exclusion(row.key));
      ground->exclusions_.emplace(key.folder, key.name);
    }
    return {};
  }));
  return ground;
}

Result<bool> CopyGround::is_excluded(FolderId id) const {
  if (exclusions_.empty()) return false;
  bool excluded = false;
  SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
    for (FolderId at = id; at != kAboveRoot && !excluded;) {
      SLUICE_LET(folder, read_folder(reader, Side::src, at));
      if (!folder) return {Code::corrupt, "a directory of the ledger lost its record"};
      excluded = exclusions_.contains({folder->parent, at == kRoot ? "." : folder->name});
      at = folder->parent;
    }
    return {};
  }));
  return excluded;
}

void CopyGround::clean_once(FolderId id, int folder) {
  if (!options.resumed) return;
  // Held while it cleans: nobody copies into the folder before it is clean.
  const MutexLock lock(mutex_);
  if (cleaned_.insert(id).second) (void)clean_temps(folder);
}

bool CopyGround::leads(std::uint64_t device, std::uint64_t inode) {
  const MutexLock lock(mutex_);
  return led_.emplace(device, inode).second;
}

}  // namespace sluice::migrate
