// SPDX-License-Identifier: MIT
#include "tests/queue/crash/workload.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/check.h"

namespace sluice::test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

const std::map<char, std::string>& names() {
  static const std::map<char, std::string> kNames = {
      {'k', "keep"}, {'g', "gone"}, {'f', "fair"}, {'h', "history"}, {'s', "sharded history"}};
  return kNames;
}

// FNV-1a: the same in every process.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 14'695'981'039'346'656'037U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211U;
  return hash ^ (hash >> 32);
}

// One group of each queue has a limit of its own.
constexpr std::string_view kOwnLimitGroup = "g1";
constexpr std::uint32_t kOwnLimit = 3;

std::size_t payload_bytes(Random& random) {
  const std::uint64_t kind = random.below(40);
  if (kind == 0) return 70'000 + random.below(1'000);
  return kind < 5 ? 1'000 + random.below(3'000) : random.below(60);
}

// What goes beyond the job itself. It does not draw from the job's own dice.
void add_flow(queue::NewJob& job) {
  constexpr std::uint64_t kKeys = 5;
  const std::string_view id = job.id;
  if (id.starts_with(kUniqueStem))
    job.unique = queue::Unique{.key = "key" + std::to_string(hash_of(id) % kKeys),
                               .policy = queue::UniquePolicy::keep};
  if (const auto before = link_before(id))
    job.after = {{.id = *before, .policy = queue::AfterPolicy::end}};
  if (id.starts_with(kMemberStem))
    job.batch = id.substr(kMemberStem.size(), id.rfind('-') - kMemberStem.size());
}

}  // namespace

std::string queue_name(char queue) {
  return names().at(queue);
}

char queue_letter(std::string_view name) {
  const auto found = std::ranges::find(names(), name, &std::pair<const char, std::string>::second);
  SLUICE_CHECK(found != names().end());
  return found->first;
}

queue::QueueConfig config_of(char queue) {
  queue::QueueConfig config{
      .lease = milliseconds(20),
      .retry = {.attempts_max = 5, .base = milliseconds(1), .cap = milliseconds(10), .jitter = 0.5},
      .lapses_max = 4,
      .done_retention = keeps_done(queue) ? hours(1) : hours(0)};
  switch (queue) {
    case 'k':
      config.active_max = 6, config.group_max = 2;
      break;
    case 'g':
      config.active_max = 8, config.group_max = 3, config.shards = 3;
      break;
    case 'f':
      config.group_max = 1, config.fair = true;
      break;
    case 'h':
      config.active_max = 5, config.group_max = 2;
      break;
    default:
      config.active_max = 7, config.group_max = 1, config.shards = 4, config.fair = true;
  }
  return config;
}

std::optional<std::uint32_t> limit_of(char queue, std::string_view group) {
  if (group.empty()) return {};
  return group == kOwnLimitGroup ? kOwnLimit : config_of(queue).group_max;
}

bool keeps_done(char queue) {
  return queue != 'g' && queue != 'f';
}

Status set_up_queues(queue::Queues& queues, std::string_view letters) {
  for (const char letter : letters) {
    const std::string name = queue_name(letter);
    SLUICE_TRY(queues.configure(name, config_of(letter)));
    SLUICE_TRY(queues.limit_group(name, kOwnLimitGroup, kOwnLimit));
  }
  return {};
}

std::string link_id(const std::string& name, std::size_t index) {
  return std::string(kLinkStem) + name + "." + std::to_string(index);
}

std::optional<std::string> link_before(std::string_view id) {
  if (!id.starts_with(kLinkStem)) return {};
  const std::size_t dot = id.rfind('.');
  const std::uint64_t index = std::stoull(std::string(id.substr(dot + 1)));
  if (index == 0) return {};
  return std::string(id.substr(0, dot + 1)) + std::to_string(index - 1);
}

queue::NewJob job_of(char queue, const std::string& id) {
  SeededRandom random(hash_of(id));
  const bool plain = kHistoryQueues.find(queue) != std::string_view::npos;
  queue::NewJob job{.queue = queue_name(queue), .id = id};
  const std::uint64_t group = random.below(5);
  if (group != 0) job.group = "g" + std::to_string(group);
  job.payload = std::string(payload_bytes(random), 'p');
  if (random.chance(0.5)) job.priority = static_cast<std::int32_t>(random.below(3));
  if (random.chance(0.2)) job.delay = milliseconds(1 + random.below(8));
  if (!plain && random.chance(0.1)) job.ttl = milliseconds(5 + random.below(50));
  job.hold = !plain && random.chance(0.03);
  add_flow(job);
  return job;
}

queue::AckRequest ack_of(char queue, const queue::Token& token) {
  const std::string text = token.to_string();
  queue::AckRequest request{.queue = queue_name(queue), .token = token, .result = text};
  for (const std::string& id : children_of(text)) request.children.push_back(job_of(queue, id));
  return request;
}

std::vector<std::string> children_of(std::string_view token) {
  const std::uint64_t hash = hash_of(token);
  if (hash % 8 != 0) return {};
  const std::string stem = "child-" + std::to_string(hash) + "-";
  return {stem + "0", stem + "1"};
}

}  // namespace sluice::test
