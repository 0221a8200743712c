// SPDX-License-Identifier: MIT
// Random sequences of calls on every engine, against the reference model: the same answers, the
// same order, the same jobs in the same lanes after every call.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <atomic>
#include <chrono>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "queue/testing.h"
#include "tests/queue/model/commands.h"
#include "tests/queue/model/pair.h"
#include "tests/support/run_size.h"

namespace sluice::queue {
namespace {

using model::Command;
using model::Pair;
using model::sequences;

std::atomic<std::uint64_t> commands_done = 0;

// Every sequence begins at midnight, so that it does the same whenever it is repeated.
void advance_to_midnight(const Bench& bench) {
  constexpr Duration kDay = std::chrono::hours(24);
  bench.advance(kDay - bench.now().time_since_epoch() % kDay);
}

void play(Bench& bench, bool about_flows, const std::vector<Command>& sequence) {
  advance_to_midnight(bench);
  bench.queues.reset();
  kv::must_run(bench.opened, [](kv::Transaction& txn) {
    txn.erase_range(kv::Range::all());
    return Status();
  });
  auto queues = Queues::open(bench.store(), {.random = bench.random.get()});
  RC_ASSERT(status_of(queues).code() == Code::ok);
  bench.queues = std::move(*queues);
  Pair pair(bench, about_flows);
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    RC_LOG() << "command " << i << "\n";
    pair.perform(sequence[i]);
    pair.compare(i);
    if (i % 8 == 7) RC_ASSERT(breaches(bench) == "");
    ++commands_done;
  }
  RC_ASSERT(breaches(bench) == "");
}

class QueueModelTest : public OnEngines {};

// RC_PARAMS="seed=..." repeats a failing run; rapidcheck prints the line.
TEST_P(QueueModelTest, sequences_of_calls_agree_with_the_model) {
  Bench bench = open();
  const bool slow = GetParam() == EngineKind::lmdb;
  const test::RunSize sizes{100, slow ? 500u : 750u, slow ? 10'000u : 15'000u};
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = static_cast<int>(sizes.pick());
  params.maxSize = 150;
  rc::detail::TestMetadata metadata;
  metadata.id = std::string("QueueModelTest/") + engine_name(GetParam());
  commands_done = 0;
  const auto result = rc::detail::checkTestable(
      [&] {
        const bool about_flows = *rc::gen::arbitrary<bool>();
        // It takes longer until something comes of flows.
        const auto sequence = *rc::gen::scale(about_flows ? 2 : 1, sequences(about_flows));
        play(bench, about_flows, sequence);
      },
      metadata, params);
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  EXPECT_TRUE(result.template is<rc::detail::SuccessResult>()) << message.str();
  const std::string suffix = std::string("_") + engine_name(GetParam());
  test::print_figure("queue.model.sequences" + suffix, sizes.pick());
  test::print_figure("queue.model.commands" + suffix, commands_done);
}

INSTANTIATE_ON_ENGINES(QueueModelTest);

}  // namespace
}  // namespace sluice::queue
