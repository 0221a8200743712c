// SPDX-License-Identifier: MIT
// What io_recorder writes down about one data file, and how it is read again.
#pragma once

#include <sluice/result.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::test {

/// On disk each record is this, then `bytes` bytes.
struct IoHeader {
  enum Kind : std::uint32_t {
    write_begin,  ///< `offset` and the bytes. From here on any part of it may be on the disk.
    write_done,   ///< `id` names the write. It returned in full.
    sync_begin,   ///< Covers the writes done so far...
    sync_done,    ///< ...which are durable from here on; `id` names the sync.
    dir_sync,     ///< The file's directory was synced.
    rename,       ///< The file is about to be given its name; until then it had another.
    truncate,     ///< To `offset` bytes.
    note,         ///< The bytes are lines of notes.
  };
  Kind kind = write_begin;
  std::uint32_t synchronous = 0;  ///< Of a write: its descriptor has O_DSYNC or O_SYNC.
  std::uint64_t id = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct IoRecord : IoHeader {
  std::string data = {};
};

/// What the data file is called while it is being made.
inline constexpr const char* kUnfinishedSuffix = ".new";

/// Environment of the recorder: the log to append to, the data file and the notes to watch.
inline constexpr const char* kRecorderLog = "SLUICE_IO_LOG";
inline constexpr const char* kRecorderData = "SLUICE_IO_DATA";
inline constexpr const char* kRecorderNotes = "SLUICE_IO_NOTES";

Result<std::vector<IoRecord>> read_io_log(const std::string& path);

}  // namespace sluice::test
