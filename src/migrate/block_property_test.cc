// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "migrate/block.h"

namespace sluice::migrate {
namespace {

/// An entry that owns its target; its name is the key in a Folder.
struct Known {
  Entry entry;
  std::string target;
};
using Folder = std::map<std::string, Known>;

/// Numbers on both sides of every power of two, and often 0, which stands for what is absent.
template <class T>
rc::Gen<T> any_number() {
  return rc::gen::oneOf(
      rc::gen::just(T{0}), rc::gen::arbitrary<T>(),
      rc::gen::map(
          rc::gen::pair(rc::gen::inRange<unsigned>(0, 8 * sizeof(T)), rc::gen::inRange(-1, 2)),
          [](auto drawn) {
            return static_cast<T>((std::uint64_t{1} << drawn.first) +
                                  static_cast<std::uint64_t>(drawn.second));
          }));
}

/// Of three letters, so that many share a beginning, or of any bytes.
rc::Gen<std::string> any_name() {
  auto letters = rc::gen::container<std::string>(rc::gen::element('a', 'b', '\xff'));
  return rc::gen::nonEmpty(rc::gen::oneOf(letters, rc::gen::arbitrary<std::string>()));
}

rc::Gen<Known> any_known() {
  return rc::gen::exec([] {
    Known known;
    Entry& entry = known.entry;
    entry.kind = static_cast<Kind>(*rc::gen::inRange(0, 7));
    entry.mode = *rc::gen::element(0u, 0644u, 0755u, 07777u);
    entry.uid = *rc::gen::element(0u, 1000u, 1001u, ~0u);
    entry.gid = *rc::gen::element(0u, 1000u, ~0u);
    entry.size = *any_number<std::uint64_t>();
    entry.mtime_ns = *any_number<std::int64_t>();
    known.target = *rc::gen::oneOf(rc::gen::just(std::string()), rc::gen::arbitrary<std::string>());
    entry.rdev_major = *any_number<std::uint32_t>();
    entry.rdev_minor = *any_number<std::uint32_t>();
    entry.device = *any_number<std::uint64_t>();
    entry.inode = *any_number<std::uint64_t>();
    if (*rc::gen::arbitrary<bool>()) entry.hash = *rc::gen::arbitrary<Hash>();
    entry.error = *any_number<std::uint32_t>();
    entry.excluded = *rc::gen::arbitrary<bool>();
    entry.id = *any_number<std::uint64_t>();
    return known;
  });
}

Entry view_of(const Folder::value_type& named) {
  Entry entry = named.second.entry;
  entry.name = named.first;
  entry.target = named.second.target;
  return entry;
}

/// The folder in chunks, each of which ends after at most `entries_max`.
std::vector<std::string> write(const Folder& folder, std::size_t entries_max) {
  ChunkWriter writer;
  std::vector<std::string> chunks;
  for (const auto& named : folder) {
    if (writer.entries() == entries_max || !writer.add(view_of(named))) {
      chunks.push_back(writer.finish());
      RC_ASSERT(writer.add(view_of(named)));
    }
  }
  chunks.push_back(writer.finish());
  return chunks;
}

RC_GTEST_PROP(ChunkProperty, any_folder_comes_back, ()) {
  const auto folder = *rc::gen::container<Folder>(any_name(), any_known());
  const std::size_t entries_max = *rc::gen::element<std::size_t>(1, 3, SIZE_MAX);
  auto expected = folder.begin();
  for (const std::string& chunk : write(folder, entries_max)) {
    RC_ASSERT(chunk.size() <= kChunkBytesMax);
    auto reader = ChunkReader::open(chunk).value();
    for (std::size_t i = 0; i < reader.entries(); ++i, ++expected) {
      RC_ASSERT(expected != folder.end());
      RC_ASSERT(*reader.next().value() == view_of(*expected));
    }
    RC_ASSERT(!reader.next().value());
  }
  RC_ASSERT(expected == folder.end());
}

}  // namespace
}  // namespace sluice::migrate
