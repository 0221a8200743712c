// SPDX-License-Identifier: MIT
// The engines and modes that the conformance suite runs on, and how a test opens one.
#pragma once

#include <gtest/gtest.h>
#include <sluice/kv.h>

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "kv/fault_store.h"
#include "tests/support/temp_dir.h"

namespace sluice::kv {

enum class EngineKind { memory_serial, memory_optimistic, lmdb, fault };

inline const char* engine_name(EngineKind kind) {
  switch (kind) {
    case EngineKind::memory_serial:
      return "memory_serial";
    case EngineKind::memory_optimistic:
      return "memory_optimistic";
    case EngineKind::lmdb:
      return "lmdb";
    case EngineKind::fault:
      break;
  }
  return "fault";
}
inline void PrintTo(EngineKind kind, std::ostream* out) {
  *out << engine_name(kind);
}

/// A store of one kind with all that it needs to live.
struct Opened {
  std::unique_ptr<test::TempDir> dir = {};
  std::unique_ptr<SeededRandom> random = {};
  std::unique_ptr<Store> store = {};

  Store* operator->() const { return store.get(); }
};

inline Opened open_engine(EngineKind kind, const Clock& clock = system_clock()) {
  Opened opened;
  if (kind == EngineKind::lmdb) {
    opened.dir = std::make_unique<test::TempDir>();
    auto store = open_lmdb({.dir = opened.dir->path(), .map_bytes = 256 << 20, .clock = &clock});
    EXPECT_TRUE(store) << store.error().to_string();
    opened.store = std::move(*store);
    return opened;
  }
  MemoryOptions options{.clock = &clock};
  if (kind == EngineKind::memory_optimistic) options.mode = MemoryOptions::Mode::optimistic;
  if (kind == EngineKind::fault) {
    opened.random = std::make_unique<SeededRandom>(1);
    opened.store = std::make_unique<FaultStore>(options, *opened.random);
  } else {
    opened.store = open_memory(options);
  }
  return opened;
}

/// The suite. every_engine.cc runs it on each kind.
class Conformance : public testing::TestWithParam<EngineKind> {};

/// What most tests write: one transaction that must succeed.
inline Commit must_run(const Opened& opened, const Body& body) {
  auto commit = opened->run(body);
  EXPECT_TRUE(commit) << commit.error().to_string();
  return commit.value_or(Commit{});
}

inline void must_put(const Opened& opened, std::string_view key, std::string_view value) {
  must_run(opened, [&](Transaction& txn) -> Status {
    txn.put(key, value);
    return {};
  });
}

inline std::optional<std::string> committed(const Opened& opened, std::string_view key) {
  std::optional<std::string> value;
  const Status status = opened->read([&](Reader& reader) -> Status {
    SLUICE_LET(found, reader.get(key));
    value = found;
    return {};
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
  return value;
}

inline std::vector<KeyValue> all_committed(const Opened& opened) {
  std::vector<KeyValue> entries;
  const Status status = opened->read([&](Reader& reader) -> Status {
    SLUICE_LET(found, reader.scan(Range::all()));
    entries = found;
    return {};
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
  return entries;
}

}  // namespace sluice::kv
