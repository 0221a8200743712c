// SPDX-License-Identifier: MIT
// What must hold for one job.
#include <algorithm>
#include <ranges>

#include "tests/queue/crash/oracle.h"
#include "tests/queue/crash/workload.h"

namespace sluice::test {
namespace {

using queue::DeathReason;
using queue::Lane;
using Kind = Breach::Kind;

bool may_answer(const JobKey& key, const Event& event) {
  using enum Code;
  const auto is = [&](std::initializer_list<Code> codes) {
    return std::ranges::find(codes, event.code) != codes.end();
  };
  switch (event.verb) {
    case Verb::enqueue:
      if (event.child) return is({ok, lease_lost});
      // Said of a job whose unique key was taken.
      if (key.second.starts_with(kUniqueStem)) return is({ok, already_exists});
      return event.operation.empty() ? is({ok, already_exists}) : is({ok});
    case Verb::claim:
      return is({ok});
    case Verb::extend:
    case Verb::ack:
    case Verb::fail:
    case Verb::release:
      return is({ok, lease_lost});
    case Verb::look:
      return is({ok, not_found});
    case Verb::requeue:
      if (key.second.starts_with(kUniqueStem) && is({already_exists})) return true;
      return is({ok, not_found, conflict});
    default:
      return is({ok, not_found, conflict});
  }
}

class JobJudge {
 public:
  JobJudge(const JobKey& key, JobTruth& truth, const std::vector<Event>& events,
           const std::optional<Seen>& now)
      : key_(key), truth_(truth), events_(events), now_(now) {}

  std::vector<Breach> judge() {
    for (const Event& event : events_)
      if (event.answered && !may_answer(key_, event))
        find(Kind::other, std::string(verb_name(event.verb)) + " answered " +
                              code_name(event.code) + (event.child ? " for a child" : ""));
    judge_origin();
    judge_claims();
    judge_stale();
    judge_completions();
    if (now_)
      judge_lane();
    else
      judge_absence();
    truth_.revivals += count(Verb::requeue);
    truth_.last = now_;
    return std::move(breaches_);
  }

 private:
  void find(Kind kind, const std::string& what) {
    breaches_.push_back({kind, std::string(1, key_.first) + " " + key_.second + ": " + what});
  }

  // Events that happened or may have.
  std::uint64_t count(Verb verb) const {
    return static_cast<std::uint64_t>(std::ranges::count_if(
        events_, [&](const Event& event) { return event.verb == verb && event.maybe(); }));
  }

  // Whether somebody may have revived the job after `event` and before the place `until`.
  bool revived_after(std::size_t begin, std::size_t until = SIZE_MAX) const {
    return std::ranges::any_of(events_, [&](const Event& event) {
      return event.verb == Verb::requeue && event.maybe() && event.end >= begin &&
             event.begin <= until;
    });
  }

  // Something that only happens to a job that is there.
  bool is_sure_to_have_existed() const {
    return truth_.existed() ||
           std::ranges::any_of(events_, [](const Event& event) { return event.ok(); });
  }

  void judge_origin() {
    const bool asked_for = truth_.existed() || count(Verb::enqueue) > 0;
    if (!asked_for && (now_ || is_sure_to_have_existed()))
      find(Kind::doubled, "it is there, and nobody enqueued it");
    if (now_ && truth_.gone) find(Kind::doubled, "it came back");
    for (const Event& event : events_) {
      if (event.verb != Verb::enqueue || !event.maybe()) continue;
      const bool same_call =
          !event.operation.empty() && (event.child || event.operation == truth_.operation);
      if (event.ok() && !same_call && (truth_.existed() || enqueued_))
        find(Kind::doubled, "it was enqueued twice");
      if (event.ok()) enqueued_ = true;
      if (truth_.operation.empty() && !event.child) truth_.operation = event.operation;
    }
    if (!now_) return;
    if (truth_.number.empty()) truth_.number = now_->number;
    if (truth_.number != now_->number) find(Kind::doubled, "another job has its id");
  }

  void judge_claims() {
    const std::uint64_t claims_before = truth_.last ? truth_.last->claims : 0;
    const Event* before = nullptr;
    for (const Event& event : events_) {
      if (event.verb != Verb::claim) continue;
      if (truth_.number.empty()) truth_.number = event.token.substr(0, 32);
      if (!event.token.starts_with(truth_.number)) find(Kind::doubled, "claimed as another job");
      const std::uint64_t claim = std::stoull(event.token.substr(32), nullptr, 16);
      // A repeated claim gets again what it got before, if that is still held.
      if (event.repeated && truth_.last && truth_.last->lane == Lane::leased &&
          claim == claims_before)
        continue;
      if (!truth_.tokens.insert(event.token).second)
        find(Kind::doubled, "token " + event.token + " was handed out twice");
      if (claim <= claims_before) find(Kind::doubled, "an old token was handed out");
      if (now_ && claim > now_->claims) find(Kind::lost, "a claim is not there");
      if (before != nullptr && before->end < event.begin && before->token >= event.token)
        find(Kind::doubled, "tokens do not increase");
      before = &event;
      judge_claim_of_finished(event);
    }
    if (now_ && now_->claims < claims_before) find(Kind::lost, "claims were forgotten");
  }

  void judge_claim_of_finished(const Event& claim) {
    if (truth_.gone || (truth_.last && is_finished(truth_.last->lane)))
      if (!revived_after(0, claim.end)) find(Kind::doubled, "claimed though it was finished");
    for (const Event& event : events_)
      if (finishes(event) && event.ok() && event.end < claim.begin &&
          !revived_after(event.begin, claim.end))
        find(Kind::doubled, "claimed after " + std::string(verb_name(event.verb)));
  }

  // Whoever claimed last has it: nobody else's call is accepted after that.
  void judge_stale() {
    for (const Event& event : events_) {
      const bool by_token = event.verb == Verb::extend || event.verb == Verb::ack ||
                            event.verb == Verb::fail || event.verb == Verb::release;
      if (!by_token || !event.ok() || event.repeated) continue;
      if (std::ranges::any_of(events_, [&](const Event& claim) {
            return claim.verb == Verb::claim && claim.end < event.begin &&
                   claim.token > event.token;
          }))
        find(Kind::doubled, std::string(verb_name(event.verb)) + " under a stale token");
    }
  }

  static bool finishes(const Event& event) {
    return event.verb == Verb::ack || event.verb == Verb::cancel ||
           (event.verb == Verb::fail && event.dead);
  }

  void judge_completions() {
    for (const Event& event : events_) {
      if (event.verb != Verb::ack) continue;
      const bool known = truth_.accepted.contains(event.token);
      if (event.ok() && known && event.operation.empty())
        find(Kind::doubled, "the ack of " + event.token + " was accepted twice");
      if (event.repeated && event.answered && !event.ok() && known &&
          truth_.accepted.at(event.token) == event.operation)
        find(Kind::lost, "a repeated ack was refused though it had been accepted");
      const bool applied = event.ok() || (!event.answered && now_ && now_->lane == Lane::done &&
                                          now_->result == event.token);
      if (applied) truth_.accepted.emplace(event.token, is_only_ack(event) ? event.operation : "");
    }
    if (truth_.accepted.size() > 1 + truth_.revivals + count(Verb::requeue))
      find(Kind::doubled, std::to_string(truth_.accepted.size()) + " completions were accepted");
  }

  bool is_only_ack(const Event& ack) const {
    return std::ranges::count_if(events_, [&](const Event& event) {
             return event.verb == Verb::ack && event.token == ack.token;
           }) == 1;
  }

  void judge_lane() {
    const Lane lane = now_->lane;
    const bool as_before = truth_.last && truth_.last->lane == lane;
    for (const Event& event : events_) {
      if (!event.ok() || !finishes(event) || revived_after(event.begin)) continue;
      const Lane wanted = event.verb == Verb::ack      ? Lane::done
                          : event.verb == Verb::cancel ? Lane::cancelled
                                                       : Lane::dead;
      if (lane != wanted || (wanted != Lane::dead && !keeps_done(key_.first)))
        find(Kind::lost, std::string(verb_name(event.verb)) + " was accepted, but the job is " +
                             lane_name(lane));
    }
    if (truth_.last && is_finished(truth_.last->lane) && !as_before && !revived_after(0))
      find(Kind::doubled, std::string("it was ") + lane_name(truth_.last->lane) + " and now is " +
                              lane_name(lane));
    if (lane == Lane::done) judge_result();
    if (lane == Lane::cancelled && !as_before && count(Verb::cancel) == 0)
      find(Kind::doubled, "nobody cancelled it");
    if (lane == Lane::dead && !as_before) judge_death();
  }

  void judge_result() {
    const bool was_so = truth_.last && truth_.last->lane == Lane::done;
    if (was_so && truth_.last->result == now_->result) return;
    if (std::ranges::none_of(events_, [&](const Event& event) {
          return event.verb == Verb::ack && event.maybe() && event.token == now_->result;
        }))
      find(Kind::doubled, "its result is of no ack: " + now_->result);
  }

  void judge_death() {
    const auto failed = [&](bool for_good) {
      return std::ranges::any_of(events_, [&](const Event& event) {
        return event.verb == Verb::fail && event.maybe() && event.dead == for_good;
      });
    };
    const queue::QueueConfig config = config_of(key_.first);
    const bool explained = [&] {
      switch (now_->reason) {
        case DeathReason::refused:
          return failed(true);
        case DeathReason::expired:
          return job_of(key_.first, key_.second).ttl > Duration(0);
        case DeathReason::poison:
          return now_->lapses >= config.lapses_max;
        case DeathReason::attempts:
          return now_->attempts >= config.retry.attempts_max && (now_->lapses > 0 || failed(false));
        default:
          return false;
      }
    }();
    if (!explained)
      find(Kind::lost, std::string("dead for no reason: ") + reason_name(now_->reason));
  }

  void judge_absence() {
    if (truth_.gone) return;
    if (!is_sure_to_have_existed()) return;
    const bool may_leave = !keeps_done(key_.first) && count(Verb::ack) + count(Verb::cancel) > 0;
    if (!may_leave) find(Kind::lost, "it is not there");
    truth_.gone = true;
  }

  const JobKey& key_;
  JobTruth& truth_;
  const std::vector<Event>& events_;
  const std::optional<Seen>& now_;
  bool enqueued_ = false;
  std::vector<Breach> breaches_;
};

}  // namespace

std::vector<Breach> judge_job(const JobKey& key, JobTruth& truth, const std::vector<Event>& events,
                              const std::optional<Seen>& now) {
  return JobJudge(key, truth, events, now).judge();
}

}  // namespace sluice::test
