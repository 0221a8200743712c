// SPDX-License-Identifier: MIT
// What the tests of this room share: queues with jobs in them, and a folder for the rest.
#pragma once

#include <gtest/gtest.h>
#include <sluice/queue.h>

#include <memory>
#include <string>

#include "exec/lock_file.h"
#include "tests/support/temp_dir.h"
#include "worker/command.h"
#include "worker/places.h"
#include "worker/worker.h"

namespace sluice::worker::testing {

struct Bench {
  test::TempDir dir;
  std::unique_ptr<kv::Store> store = kv::open_memory();
  std::unique_ptr<queue::Queues> queues = queue::Queues::open(*store).value();
  exec::LockFile locks = exec::LockFile::open(lock_path(dir.path())).value();

  Bench() {
    queue::QueueConfig config;
    config.done_retention = std::chrono::hours(1);
    EXPECT_TRUE(queues->configure("q", config).ok());
  }

  void enqueue(const std::string& id, Command command, std::uint32_t attempts = 1) const {
    EXPECT_TRUE(
        queues->enqueue({.queue = "q",
                         .id = id,
                         .payload = encode(command),
                         .retry = queue::RetryPolicy{.attempts_max = attempts, .base = {}}}));
  }
  void enqueue(const std::string& id, const std::string& text, std::uint32_t attempts = 1) const {
    enqueue(id, Command{.text = text, .set = {"PATH=/bin:/usr/bin"}}, attempts);
  }

  std::unique_ptr<Worker> worker(WorkerOptions options = {}) const {
    options.dir = dir.path();
    options.queues = {"q"};
    return Worker::open(*queues, options).value();
  }
  void drain(WorkerOptions options = {}) const {
    options.drain = true;
    EXPECT_TRUE(worker(options)->run().ok());
  }

  queue::Job job(const std::string& id) const {
    return queues->get({"q", id}, {.history = true}).value();
  }
  std::string lane(const std::string& id) const { return queue::lane_name(job(id).lane); }
  std::string output(const std::string& id) const {
    const queue::Job found = job(id);
    return test::read_file(log_path(dir.path(), {found.number, found.claims}));
  }
  std::string path(const std::string& name) const { return dir / name; }
};

}  // namespace sluice::worker::testing
