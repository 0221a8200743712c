// SPDX-License-Identifier: MIT
// store_of_tomorrow DIR MAJOR MINOR: says in the store that it has that format, as a program of
// another version would have left it.
#include <sluice/kv.h>

#include <string>

#include "queue/keys.h"
#include "queue/records.h"

int main(int argc, char** argv) {
  using namespace sluice;
  if (argc != 4) return 2;
  const auto store = kv::open_lmdb({.dir = argv[1]});
  if (!store) return 1;
  const std::string header = queue::encode(
      queue::HeaderRecord{.major = std::stoull(argv[2]), .minor = std::stoull(argv[3])});
  const auto written = (*store)->run([&](kv::Transaction& txn) -> Status {
    txn.put(queue::header_key(), header);
    return {};
  });
  return written ? 0 : 1;
}
