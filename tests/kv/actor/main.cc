// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <iostream>
#include <map>

#include "tests/kv/actor/actor.h"

namespace sluice::test {

std::unique_ptr<kv::Store> open_or_exit(const std::string& dir, const Clock& clock) {
  auto store = kv::open_lmdb({.dir = dir, .map_bytes = kMapBytes, .clock = &clock});
  if (store) return std::move(*store);
  std::cerr << "cannot open: " << store.error().to_string() << std::endl;
  std::_Exit(3);
}

namespace {

int run(const std::string& command, const Words& words) {
  static const std::map<std::string, int (*)(const Words&)> kCommands = {
      {"work", run_work},
      {"check", run_check},
      {"script", run_script},
      {"fill", run_fill},
      {"die_inside", run_die_inside},
      {"hold_read", run_hold_read},
      {"commit_one", run_commit_one},
      {"copy", run_copy},
      {"compact", run_compact},
      {"restore", run_restore},
      {"pong", run_pong},
      {"tell_time", run_tell_time},
      {"images", run_images}};
  return kCommands.at(command)(words);
}

}  // namespace
}  // namespace sluice::test

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  sluice::test::end_with_the_test(600);
  return sluice::test::run(argv[1], sluice::test::Words({argv + 2, argv + argc}));
}
