// SPDX-License-Identifier: MIT
#include "tests/queue/model/commands.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace sluice::queue::model {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

template <class T>
rc::Gen<std::optional<T>> limits(std::vector<T> values) {
  return rc::gen::weightedOneOf<std::optional<T>>(
      {{2, rc::gen::just(std::optional<T>())},
       {3, rc::gen::map(rc::gen::elementOf(std::move(values)),
                        [](T value) { return std::optional<T>(value); })}});
}

// How often each call is made: in sequences about single jobs, and in those about flows.
struct KindRow {
  const char* name;
  std::size_t of_jobs;
  std::size_t of_flows;
};
// In the order of Command::Kind.
constexpr KindRow kKinds[] = {{"enqueue", 20, 26},
                              {"enqueue_batch", 4, 5},
                              {"claim", 16, 20},
                              {"extend", 3, 1},
                              {"ack", 8, 18},
                              {"ack_batch", 2, 5},
                              {"fail", 6, 4},
                              {"release", 5, 2},
                              {"cancel", 3, 2},
                              {"requeue", 4, 6},
                              {"edit", 6, 2},
                              {"hold", 3, 2},
                              {"unhold", 3, 4},
                              {"break_lease", 3, 1},
                              {"remove", 2, 1},
                              {"configure", 6, 5},
                              {"limit_group", 4, 1},
                              {"pause", 1, 1},
                              {"resume", 2, 2},
                              {"purge", 1, 1},
                              {"remove_queue", 1, 1},
                              {"sweep", 3, 5},
                              {"advance", 10, 6},
                              {"advance_far", 1, 6},
                              {"add_after", 1, 5},
                              {"open_batch", 1, 8},
                              {"seal_batch", 1, 5},
                              {"cancel_batch", 1, 2},
                              {"put_schedule", 1, 4},
                              {"pause_schedule", 0, 1},
                              {"resume_schedule", 0, 1},
                              {"run_schedule", 0, 2},
                              {"remove_schedule", 0, 1}};

rc::Gen<Command::Kind> kinds(bool about_flows) {
  std::vector<std::pair<std::size_t, Command::Kind>> weighted;
  for (std::size_t i = 0; i < std::size(kKinds); ++i)
    weighted.push_back(
        {about_flows ? kKinds[i].of_flows : kKinds[i].of_jobs, static_cast<Command::Kind>(i)});
  return rc::gen::exec([weighted] {
    std::size_t total = 0;
    for (const auto& [weight, kind] : weighted) total += weight;
    std::size_t drawn = *rc::gen::noShrink(rc::gen::inRange<std::size_t>(0, total));
    for (const auto& [weight, kind] : weighted) {
      if (drawn < weight) return kind;
      drawn -= weight;
    }
    return Command::enqueue;
  });
}

// Tiny limits and times: they are what makes calls meet each other.
rc::Gen<QueueConfig> configs(bool about_flows) {
  return rc::gen::exec([about_flows] {
    QueueConfig config;
    config.lease = milliseconds(about_flows ? *rc::gen::element(50, 30'000, 30'000)
                                            : *rc::gen::element(10, 50));
    config.retry = {.attempts_max = *rc::gen::inRange(1u, 4u),
                    .base = milliseconds(*rc::gen::element(0, 5)),
                    .factor = 2,
                    .cap = milliseconds(15)};
    config.lapses_max = *rc::gen::inRange(1u, 4u);
    config.done_retention =
        about_flows
            ? *rc::gen::element<Duration>(milliseconds(0), milliseconds(40), hours(2))
            : *rc::gen::element<Duration>(milliseconds(0), milliseconds(0), milliseconds(40));
    config.dead_retention =
        *rc::gen::element(Duration(milliseconds(40)), Duration::max(), Duration::max());
    config.events = *rc::gen::inRange(0, 4) != 0;
    config.fair = *rc::gen::arbitrary<bool>();
    // Where little is let through, little comes of it.
    if (about_flows && *rc::gen::inRange(0, 4) != 0) return config;
    config.active_max = *limits<std::uint32_t>({0, 1, 2, 3});
    config.group_max = *limits<std::uint32_t>({0, 1, 2});
    config.backlog_max = *limits<std::uint64_t>({0, 3, 6});
    if (*rc::gen::inRange(0, 4) == 0)
      config.rate = Rate{.jobs = *rc::gen::inRange<std::uint64_t>(1, 3),
                         .per = milliseconds(10),
                         .burst = *rc::gen::inRange<std::uint64_t>(1, 4)};
    return config;
  });
}

rc::Gen<Unique> uniques() {
  return rc::gen::exec([] {
    using L = Lane;
    const std::vector<Lane> unfinished = Unique{}.lanes;
    Unique unique{.key = *rc::gen::element<std::string>("k0", "k1")};
    const std::vector<std::vector<Lane>> lanes = {unfinished,
                                                  unfinished,
                                                  {L::waiting, L::held, L::scheduled, L::ready},
                                                  {},
                                                  {L::ready, L::leased, L::done},
                                                  {L::leased, L::dead},
                                                  {L::done, L::dead, L::cancelled}};
    unique.lanes = *rc::gen::elementOf(lanes);
    unique.window = milliseconds(*rc::gen::element(0, 0, 20, 2'000));
    if (unique.lanes.empty()) unique.window = milliseconds(*rc::gen::element(15, 3'000));
    unique.policy = *rc::gen::element(UniquePolicy::reject, UniquePolicy::keep,
                                      UniquePolicy::replace, UniquePolicy::replace);
    return unique;
  });
}

rc::Gen<AfterPick> after_picks() {
  return rc::gen::exec([] {
    using A = AfterPick;
    return AfterPick{
        .kind = *rc::gen::weightedElement<A::Kind>(
            {{6, A::own}, {3, A::other}, {4, A::near}, {1, A::by_name}, {1, A::spelled}}),
        .job = *rc::gen::inRange<std::size_t>(0, 6),
        .policy = *rc::gen::element(AfterPolicy::success, AfterPolicy::end, AfterPolicy::cancel)};
  });
}

rc::Gen<std::vector<AfterPick>> afters() {
  return rc::gen::exec([] {
    const auto count = *rc::gen::inRange<std::size_t>(1, 4);
    return *rc::gen::container<std::vector<AfterPick>>(count, after_picks());
  });
}

rc::Gen<Flow> flows() {
  return rc::gen::exec([] {
    Flow flow;
    const int kinds =
        *rc::gen::weightedElement<int>({{5, 1}, {5, 2}, {4, 4}, {1, 3}, {2, 6}, {1, 7}});
    if (kinds & 1) flow.unique = *uniques();
    if (kinds & 2) flow.after = *afters();
    if (kinds & 4) flow.batch = *rc::gen::inRange<std::size_t>(0, 12);
    return flow;
  });
}

bool enqueues(Command::Kind kind) {
  return kind == Command::enqueue || kind == Command::enqueue_batch || kind == Command::ack ||
         kind == Command::ack_batch;
}

rc::Gen<Command> commands(bool about_flows) {
  return rc::gen::exec([about_flows] {
    using C = Command;
    Command command;
    command.kind = *kinds(about_flows);
    command.queue = *rc::gen::weightedElement<std::size_t>({{about_flows ? 5 : 3, 0}, {1, 1}});
    command.job = *rc::gen::inRange<std::size_t>(0, 12);
    command.group = *rc::gen::inRange<std::size_t>(0, kGroups.size());
    command.number = *rc::gen::inRange(0, 5);
    command.time = about_flows && command.kind != C::advance
                       ? *rc::gen::element<Ms>(0, 0, 0, 0, 1, 5, 25)
                       : *rc::gen::element<Ms>(0, 0, 1, 5, 10, 25, 60);
    command.ttl = about_flows ? *rc::gen::weightedElement<Ms>({{12, 0}, {1, 12}, {1, 40}})
                              : *rc::gen::element<Ms>(0, 0, 0, 12, 40);
    command.flag = *rc::gen::weightedElement<bool>({{3, false}, {1, true}});
    if (command.kind == C::configure) command.config = *configs(about_flows);
    const bool flows_too = *rc::gen::inRange(0, 8) < (about_flows ? 5 : 1);
    if (enqueues(command.kind) && flows_too) command.flow = *flows();
    if (command.kind == C::add_after) command.flow.after = *afters();
    if (command.kind == C::put_schedule && command.number > 1) command.flow.unique = *uniques();
    return command;
  });
}

// What is left of a failing sequence without some of its calls: large parts first. As many as it
// has calls, twice; rapidcheck's own way tries their square.
rc::Seq<std::vector<Command>> parts_of(const std::vector<Command>& sequence) {
  std::vector<std::pair<std::size_t, std::size_t>> cuts;
  for (std::size_t size = (sequence.size() + 1) / 2; size > 0;
       size = size == 1 ? 0 : (size + 1) / 2)
    for (std::size_t at = 0; at < sequence.size(); at += size)
      cuts.push_back({at, std::min(at + size, sequence.size())});
  return rc::seq::map(rc::seq::fromContainer(std::move(cuts)), [sequence](const auto& cut) {
    std::vector<Command> rest(sequence.begin(), sequence.begin() + static_cast<long>(cut.first));
    rest.insert(rest.end(), sequence.begin() + static_cast<long>(cut.second), sequence.end());
    return rest;
  });
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Flow& flow) {
  constexpr const char* kPolicies[] = {"", "reject", "keep", "replace"};
  constexpr const char* kPicks[] = {"own", "other", "near", "by_name", "spelled"};
  if (flow.unique) {
    out << " unique=" << flow.unique->key << " " << flow.unique->window.count() / 1'000'000 << " "
        << kPolicies[static_cast<int>(flow.unique->policy)] << " in";
    for (const Lane lane : flow.unique->lanes) out << " " << lane_name(lane);
  }
  for (const AfterPick& pick : flow.after)
    out << " after=" << kPicks[pick.kind] << " " << pick.job << " " << policy_name(pick.policy);
  if (flow.batch) out << " batch=" << *flow.batch;
  return out;
}

std::ostream& operator<<(std::ostream& out, const Command& command) {
  out << "\n  " << kKinds[command.kind].name << " queue=" << kQueues[command.queue]
      << " job=" << command.job << " group=" << kGroups[command.group]
      << " number=" << command.number << " time=" << command.time << " ttl=" << command.ttl
      << (command.flag ? " flag" : "") << command.flow;
  if (command.kind != Command::configure) return out;
  const QueueConfig& config = command.config;
  const auto limit = [](const auto& value) { return value ? std::to_string(*value) : "none"; };
  out << " lease=" << config.lease.count() / 1'000'000 << " attempts=" << config.retry.attempts_max
      << " lapses=" << config.lapses_max << " done=" << config.done_retention.count() / 1'000'000
      << " dead=" << config.dead_retention.count() / 1'000'000
      << " active_max=" << limit(config.active_max) << " group_max=" << limit(config.group_max)
      << " backlog_max=" << limit(config.backlog_max) << (config.fair ? " fair" : "")
      << (config.events ? "" : " no events");
  if (config.rate)
    out << " rate=" << config.rate->jobs << "/" << config.rate->per.count() << " burst "
        << config.rate->burst;
  return out;
}

rc::Gen<std::vector<Command>> sequences(bool about_flows) {
  return rc::gen::shrink(
      rc::gen::noShrink(rc::gen::container<std::vector<Command>>(commands(about_flows))),
      &parts_of);
}

}  // namespace sluice::queue::model
