// SPDX-License-Identifier: MIT
#include "tests/queue/crash/actor/batches.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "tests/queue/crash/actor/actor.h"
#include "tests/queue/crash/workload.h"
#include "tests/support/waiting.h"

namespace sluice::test {
namespace {

using queue::Batch;
using queue::Lane;
using queue::NewJob;

// A job beside the callbacks whose payload is the last batch that nobody asks about any more.
constexpr const char* kMarker = "forgotten";

bool is_missing(queue::Queues& queues, const std::string& name) {
  return status_of(queues.get_queue(name)).code() == Code::not_found;
}

Result<std::vector<Batch>> list_batches(queue::Queues& queues) {
  std::vector<Batch> batches;
  const std::string name = queue_name('k');
  if (is_missing(queues, name)) return batches;
  std::string after;
  const auto marker = queues.get({.queue = kBatchCalls, .id = kMarker}, {.payload = true});
  if (marker) after = marker->payload.value();
  for (;;) {
    SLUICE_LET(page, queues.list_batches(name, after));
    if (page.empty()) return batches;
    after = page.back().id;
    batches.insert(batches.end(), page.begin(), page.end());
  }
}

// What was called back, by payload.
Result<std::map<std::string, std::vector<std::string>>> list_calls(queue::Queues& queues) {
  std::map<std::string, std::vector<std::string>> calls;
  if (is_missing(queues, kBatchCalls)) return calls;  // Nothing has called back yet.
  std::string after;
  do {
    SLUICE_LET(
        page,
        queues.list(
            {.queue = kBatchCalls, .after = after, .limit = queue::kPageMax, .payload = true}));
    for (const queue::Job& job : page.jobs)
      if (job.id != kMarker) calls[job.payload.value()].push_back(job.id);
    after = page.next;
  } while (!after.empty());
  return calls;
}

}  // namespace

Result<std::string> open_batch(queue::Queues& queues, const std::string& name) {
  const auto now = queues.store().now().time_since_epoch().count();
  const std::string id = std::to_string(now) + "-" + name;
  return queues.open_batch({.queue = queue_name('k'),
                            .id = id,
                            .on_success = NewJob{.queue = kBatchCalls, .payload = "success " + id},
                            .on_end = NewJob{.queue = kBatchCalls, .payload = "end " + id}});
}

Result<std::vector<std::string>> judge_batches(queue::Queues& queues) {
  using Ids = std::vector<std::string>;
  std::vector<std::string> wrong;
  SLUICE_LET(batches, list_batches(queues));
  SLUICE_LET(calls, list_calls(queues));
  for (const Batch& batch : batches) {
    const Ids ends = batch.ended ? Ids{batch.end_id} : Ids{};
    const Ids successes = batch.succeeded() ? Ids{batch.success_id} : Ids{};
    if (std::exchange(calls["end " + batch.id], {}) != ends)
      wrong.push_back("batch " + batch.id + " has not called back once at its end");
    if (std::exchange(calls["success " + batch.id], {}) != successes)
      wrong.push_back("batch " + batch.id + " has not called back once for its success");
  }
  for (const auto& [payload, ids] : calls)
    if (!ids.empty()) wrong.push_back("a callback of no batch: " + payload);
  return wrong;
}

Status seal_batches(queue::Queues& queues) {
  SLUICE_LET(batches, list_batches(queues));
  for (const Batch& batch : batches)
    SLUICE_TRY(queues.seal_batch({.queue = batch.queue, .id = batch.id}));
  return {};
}

Status end_batches(queue::Queues& queues) {
  // Two last members that were acked at once leave the end to a sweep in the next second.
  const Stopwatch watch;
  for (;;) {
    SLUICE_LET(batches, list_batches(queues));
    const auto open =
        std::ranges::find_if(batches, [](const Batch& batch) { return !batch.ended; });
    if (open == batches.end()) return {};
    if (watch.reached(patience()))
      return error(Code::deadline_exceeded, "batch " + open->id + " never ends");
    SLUICE_TRY(queues.sweep());
    pause(std::chrono::milliseconds(2));
  }
}

Status forget_batches(queue::Queues& queues) {
  SLUICE_LET(batches, list_batches(queues));
  if (batches.empty()) return {};
  SLUICE_LET(calls, list_calls(queues));
  for (const auto& [payload, ids] : calls)
    for (const std::string& id : ids) SLUICE_TRY(queues.cancel({.queue = kBatchCalls, .id = id}));
  const auto marker = queues.get({.queue = kBatchCalls, .id = kMarker});
  if (marker) SLUICE_TRY(queues.cancel({.queue = kBatchCalls, .id = kMarker}));
  return status_of(
      queues.enqueue({.queue = kBatchCalls, .id = kMarker, .payload = batches.back().id}));
}

}  // namespace sluice::test
