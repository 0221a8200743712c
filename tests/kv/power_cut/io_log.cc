// SPDX-License-Identifier: MIT
#include "tests/kv/power_cut/io_log.h"

#include <cstring>

#include "tests/support/temp_dir.h"

namespace sluice::test {

Result<std::vector<IoRecord>> read_io_log(const std::string& path) {
  const std::string bytes = read_file(path);
  std::vector<IoRecord> records;
  for (std::size_t at = 0; at < bytes.size();) {
    IoRecord record;
    if (bytes.size() - at < sizeof(IoHeader)) return error(Code::corrupt, "the log ends early");
    std::memcpy(static_cast<IoHeader*>(&record), bytes.data() + at, sizeof(IoHeader));
    at += sizeof(IoHeader);
    if (bytes.size() - at < record.bytes) return error(Code::corrupt, "the log ends early");
    record.data = bytes.substr(at, record.bytes);
    at += record.bytes;
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace sluice::test
