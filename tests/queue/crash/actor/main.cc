// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <iostream>
#include <map>
#include <utility>

#include "tests/queue/crash/actor/actor.h"

namespace sluice::test {

void must(const Status& status, const char* doing) {
  if (status.ok()) return;
  std::cerr << "cannot " << doing << ": " << status.to_string() << std::endl;
  std::_Exit(4);
}

Opened open_or_exit(const std::string& dir, const Clock& clock) {
  constexpr std::uint64_t kMapBytes = 512 << 20;
  Opened opened;
  auto store = kv::open_lmdb({.dir = dir, .map_bytes = kMapBytes, .clock = &clock});
  must(status_of(store), "open the store");
  opened.store = std::move(*store);
  auto queues = queue::Queues::open(*opened.store);
  must(status_of(queues), "open the queues");
  opened.queues = std::move(*queues);
  return opened;
}

namespace {

int run(const std::string& command, const Words& words) {
  static const std::map<std::string, int (*)(const Words&)> kCommands = {
      {"work", run_work},     {"verify", run_verify},   {"check", run_check},
      {"drain", run_drain},   {"purge", run_purge},     {"client", run_client},
      {"finish", run_finish}, {"release", run_release}, {"members", run_members},
      {"drop", run_drop},     {"fire", run_fire}};
  return kCommands.at(command)(words);
}

}  // namespace
}  // namespace sluice::test

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  sluice::test::end_with_the_test(600);
  return sluice::test::run(argv[1], sluice::test::Words({argv + 2, argv + argc}));
}
