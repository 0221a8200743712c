// SPDX-License-Identifier: MIT
// Whatever the chunk reader accepts is canonical: writing its entries again gives the same bytes.
// The input is tried as a chunk, and as the count (two bytes) and the body of one that is intact,
// so that the fuzzer gets past the checksum.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "codec/record.h"
#include "migrate/block.h"

namespace {

using namespace sluice::migrate;

void rewrite(std::string_view chunk) {
  auto reader = ChunkReader::open(chunk);
  if (!reader) return;
  ChunkWriter writer;
  for (std::size_t i = 0; i < reader->entries(); ++i) {
    const auto entry = reader->next();
    if (!entry) {
      SLUICE_CHECK(!reader->next());
      return;
    }
    SLUICE_CHECK(*entry != nullptr);
    SLUICE_CHECK(writer.add(**entry));
  }
  const auto end = reader->next();
  if (!end) return;
  SLUICE_CHECK(*end == nullptr);
  SLUICE_CHECK(writer.finish() == chunk);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  rewrite(input);
  if (size < 2) return 0;
  constexpr sluice::codec::RecordFormat kChunk{.type = 40, .major = 1, .minor = 0};
  const std::uint64_t entries = data[0] | std::uint64_t{data[1]} << 8;
  rewrite(sluice::codec::RecordWriter(kChunk).field(1, entries).field(2, input.substr(2)).finish());
  return 0;
}
