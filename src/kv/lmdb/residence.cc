// SPDX-License-Identifier: MIT
#include "kv/lmdb/residence.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace sluice::kv {
namespace {

/// An address within the map, which LMDB does not tell: where the header lies.
const char* address_inside(const Environment& environment) {
  MDB_txn* raw = nullptr;
  if (mdb_txn_begin(environment.get(), nullptr, MDB_RDONLY, &raw) != 0) return nullptr;
  const TxnPtr txn(raw);
  MDB_val key = to_val(kHeaderKey);
  MDB_val value{};
  if (mdb_get(raw, environment.dbi(), &key, &value) != 0) return nullptr;
  return static_cast<const char*>(value.mv_data);
}

/// Of mapped files, and of nothing else that the process has in memory.
std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  std::uint64_t mapped = 0;
  file >> all >> resident >> mapped;
  return mapped * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

Residence::Residence(const Environment& environment, std::uint64_t bytes_max)
    : bytes_max_(bytes_max) {
  const char* const inside = bytes_max != 0 ? address_inside(environment) : nullptr;
  if (inside == nullptr) return;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    char* begin = nullptr;
    char* end = nullptr;
    if (std::sscanf(line.c_str(), "%p-%p", reinterpret_cast<void**>(&begin),
                    reinterpret_cast<void**>(&end)) != 2)
      continue;
    if (inside < begin || inside >= end) continue;
    map_ = begin;
    map_bytes_ = static_cast<std::size_t>(end - begin);
    return;
  }
}

void Residence::look() const {
  if (map_ == nullptr || resident_bytes() <= bytes_max_) return;
  madvise(map_, map_bytes_, MADV_DONTNEED);
}

}  // namespace sluice::kv
