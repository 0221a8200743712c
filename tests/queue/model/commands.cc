// SPDX-License-Identifier: MIT
#include "tests/queue/model/commands.h"

#include <optional>
#include <utility>

namespace sluice::queue::model {
namespace {

using std::chrono::milliseconds;

template <class T>
rc::Gen<std::optional<T>> limits(std::vector<T> values) {
  return rc::gen::weightedOneOf<std::optional<T>>(
      {{2, rc::gen::just(std::optional<T>())},
       {3, rc::gen::map(rc::gen::elementOf(std::move(values)),
                        [](T value) { return std::optional<T>(value); })}});
}

// Tiny limits and times: they are what makes calls meet each other.
rc::Gen<QueueConfig> configs() {
  return rc::gen::exec([] {
    QueueConfig config;
    config.lease = milliseconds(*rc::gen::element(10, 50));
    config.retry = {.attempts_max = *rc::gen::inRange(1u, 4u),
                    .base = milliseconds(*rc::gen::element(0, 5)),
                    .factor = 2,
                    .cap = milliseconds(15)};
    config.lapses_max = *rc::gen::inRange(1u, 4u);
    config.done_retention = milliseconds(*rc::gen::element(0, 0, 40));
    config.dead_retention =
        *rc::gen::element(Duration(milliseconds(40)), Duration::max(), Duration::max());
    config.active_max = *limits<std::uint32_t>({0, 1, 2, 3});
    config.group_max = *limits<std::uint32_t>({0, 1, 2});
    config.backlog_max = *limits<std::uint64_t>({0, 3, 6});
    if (*rc::gen::inRange(0, 4) == 0)
      config.rate = Rate{.jobs = *rc::gen::inRange<std::uint64_t>(1, 3),
                         .per = milliseconds(10),
                         .burst = *rc::gen::inRange<std::uint64_t>(1, 4)};
    config.fair = *rc::gen::arbitrary<bool>();
    return config;
  });
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Command& command) {
  constexpr const char* kNames[] = {
      "enqueue", "enqueue_batch", "claim",        "extend",    "ack",         "ack_batch",
      "fail",    "release",       "cancel",       "requeue",   "edit",        "hold",
      "unhold",  "break_lease",   "remove",       "configure", "limit_group", "pause",
      "resume",  "purge",         "remove_queue", "sweep",     "advance"};
  out << "\n  " << kNames[command.kind] << " queue=" << kQueues[command.queue]
      << " job=" << command.job << " group=" << kGroups[command.group]
      << " number=" << command.number << " time=" << command.time << " ttl=" << command.ttl
      << (command.flag ? " flag" : "");
  if (command.kind != Command::configure) return out;
  const QueueConfig& config = command.config;
  const auto limit = [](const auto& value) { return value ? std::to_string(*value) : "none"; };
  out << " lease=" << config.lease.count() / 1'000'000 << " attempts=" << config.retry.attempts_max
      << " lapses=" << config.lapses_max << " done=" << config.done_retention.count() / 1'000'000
      << " dead=" << config.dead_retention.count() / 1'000'000
      << " active_max=" << limit(config.active_max) << " group_max=" << limit(config.group_max)
      << " backlog_max=" << limit(config.backlog_max) << (config.fair ? " fair" : "");
  if (config.rate)
    out << " rate=" << config.rate->jobs << "/" << config.rate->per.count() << " burst "
        << config.rate->burst;
  return out;
}

rc::Gen<Command> commands() {
  return rc::gen::exec([] {
    using C = Command;
    Command command;
    command.kind = *rc::gen::weightedElement<C::Kind>(
        {{20, C::enqueue},     {4, C::enqueue_batch}, {16, C::claim},  {3, C::extend},
         {8, C::ack},          {2, C::ack_batch},     {6, C::fail},    {5, C::release},
         {3, C::cancel},       {4, C::requeue},       {6, C::edit},    {3, C::hold},
         {3, C::unhold},       {3, C::break_lease},   {2, C::remove},  {6, C::configure},
         {4, C::limit_group},  {1, C::pause},         {2, C::resume},  {1, C::purge},
         {1, C::remove_queue}, {3, C::sweep},         {10, C::advance}});
    command.queue = *rc::gen::weightedElement<std::size_t>({{3, 0}, {1, 1}});
    command.job = *rc::gen::inRange<std::size_t>(0, 12);
    command.group = *rc::gen::inRange<std::size_t>(0, kGroups.size());
    command.number = *rc::gen::inRange(0, 5);
    command.time = *rc::gen::element<Ms>(0, 0, 1, 5, 10, 25, 60);
    command.ttl = *rc::gen::element<Ms>(0, 0, 0, 12, 40);
    command.flag = *rc::gen::weightedElement<bool>({{3, false}, {1, true}});
    if (command.kind == C::configure) command.config = *configs();
    return command;
  });
}

}  // namespace sluice::queue::model
