// SPDX-License-Identifier: MIT
// What can be seen of both, in the same words.
#include <algorithm>
#include <sstream>

#include "tests/queue/model/pair.h"

namespace sluice::queue::model {
namespace {

Ms ms(std::optional<WallTime> time) {
  return time ? in_ms(*time) : 0;
}

std::string text_of(const Counts& counts) {
  std::string text;
  for (std::uint8_t lane = 1; lane <= kLaneCount; ++lane)
    text += " " + std::to_string(counts.of(static_cast<Lane>(lane)));
  return text;
}

std::string limit_text(std::optional<std::uint32_t> limit) {
  return limit ? std::to_string(*limit) : "none";
}

// What both know of a job, in the same words.
std::string text_of(const queue::Job& job) {
  std::ostringstream out;
  out << job.id << " " << lane_name(job.lane) << " group=" << job.group << " p=" << job.priority
      << " attempts=" << job.attempts << " lapses=" << job.lapses << " claims=" << job.claims << " "
      << reason_name(job.reason) << " payload=" << job.payload.value_or("none");
  if (job.lane == Lane::scheduled) out << " due=" << ms(job.due);
  if (job.lane == Lane::leased) out << " deadline=" << ms(job.deadline);
  if (job.lane > Lane::leased) out << " finished=" << ms(job.finished);
  out << " unique=" << job.unique << " batch=" << job.batch << " schedule=" << job.schedule << "@"
      << ms(job.planned);
  return out.str();
}

std::string text_of(const Job& job) {
  std::ostringstream out;
  out << job.id << " " << lane_name(job.lane) << " group=" << job.group << " p=" << job.priority
      << " attempts=" << job.attempts << " lapses=" << job.lapses << " claims=" << job.claims << " "
      << reason_name(job.reason) << " payload=" << job.payload;
  if (job.lane == Lane::scheduled) out << " due=" << job.due;
  if (job.lane == Lane::leased) out << " deadline=" << job.deadline;
  if (job.lane > Lane::leased) out << " finished=" << job.since;
  out << " unique=" << (job.has_key ? job.unique->key : "") << " batch=" << job.batch
      << " schedule=" << job.schedule << "@" << job.planned;
  return out.str();
}

std::vector<queue::Job> list_all(const Bench& bench, ListRequest request) {
  std::vector<queue::Job> jobs;
  do {
    auto page = bench->list(request);
    if (!page) RC_FAIL("list: " + page.error().to_string());
    jobs.insert(jobs.end(), page->jobs.begin(), page->jobs.end());
    request.after = page->next;
  } while (!request.after.empty());
  return jobs;
}

std::string text_of(const std::string& id, std::optional<Lane> from, Lane to,
                    std::uint32_t attempt) {
  return id + " " + (from ? lane_name(*from) : "new") + " to " + lane_name(to) + " attempt " +
         std::to_string(attempt) + "\n";
}

// What a job waits for, in any order.
template <class Ties>
std::string text_of_after(const std::string& id, const Ties& ties) {
  std::vector<std::string> texts;
  for (const auto& tie : ties)
    texts.push_back(" " + tie.queue + "/" + tie.id + " " + policy_name(tie.policy));
  std::ranges::sort(texts);
  std::string text = id + " after";
  for (const std::string& one : texts) text += one;
  return text + "\n";
}

std::string text_of(const queue::Batch& batch) {
  std::ostringstream out;
  out << "batch " << batch.id << (batch.sealed ? " sealed" : "")
      << (batch.cancelled ? " cancelled" : "") << " ended=" << ms(batch.ended) << " of "
      << batch.total << ": " << batch.done << " " << batch.dead << " " << batch.dropped
      << " callbacks " << batch.success_id << " " << batch.end_id
      << (batch.error.empty() ? "\n" : " error\n");
  return out.str();
}

std::string text_of(const std::string& id, const Batch& batch) {
  std::ostringstream out;
  out << "batch " << id << (batch.sealed ? " sealed" : "") << (batch.cancelled ? " cancelled" : "")
      << " ended=" << batch.ended << " of " << batch.total << ": " << batch.done << " "
      << batch.dead << " " << batch.dropped << " callbacks " << batch.success_id << " "
      << batch.end_id << (batch.failed_to_call ? " error\n" : "\n");
  return out.str();
}

std::string text_of(const queue::Schedule& schedule) {
  std::ostringstream out;
  out << "schedule " << schedule.name << " " << schedule.cron << (schedule.paused ? " paused" : "")
      << " next=" << ms(schedule.next) << " planned=" << ms(schedule.planned)
      << " last=" << schedule.last_id << " " << schedule.fired << " " << schedule.skipped
      << (schedule.error.empty() ? "\n" : " error\n");
  return out.str();
}

std::string text_of(const std::string& name, const Schedule& schedule) {
  std::ostringstream out;
  out << "schedule " << name << " " << schedule.cron << (schedule.paused ? " paused" : "")
      << " next=" << schedule.next << " planned=" << schedule.planned
      << " last=" << schedule.last_id << " " << schedule.fired << " " << schedule.skipped
      << (schedule.last_skipped ? " error\n" : "\n");
  return out.str();
}

}  // namespace

// Whatever happened since the last look, in order.
void Pair::compare_events(const std::string& queue) {
  std::string& cursor = cursors_[queue];
  if (model_.find(queue) == nullptr) return;
  std::string told, real;
  for (const Move& move : model_.take_events(queue))
    told += text_of(move.id, move.from, move.to, move.attempt);
  for (;;) {
    const auto page = bench_->events({.queue = queue, .after = cursor, .limit = 50});
    agree("events", status_of(page), Code::ok);
    RC_ASSERT(!page->gap);
    if (page->events.empty()) break;
    for (const Event& event : page->events) {
      real += text_of(event.id, event.from, event.to, event.attempt);
      RC_ASSERT(in_ms(event.at) == model_.now);
    }
    cursor = page->next;
  }
  RC_ASSERT(real == told);
}

std::string Pair::real_flows(const std::string& queue) {
  const auto batches = bench_->list_batches(queue);
  if (!batches) return code_name(batches.error().code());
  std::string text;
  for (const queue::Batch& batch : *batches) text += text_of(batch);
  const auto schedules = bench_->list_schedules(queue);
  for (const queue::Schedule& schedule : *schedules) text += text_of(schedule);
  for (const Lane lane : {Lane::waiting, Lane::held})
    for (const std::string& id : model_.list(queue, lane))
      text += text_of_after(id, bench_->get({queue, id}, {.after = true}).value().after);
  return text;
}

std::string Pair::model_flows(const std::string& queue) const {
  const Queue* found = model_.find(queue);
  if (found == nullptr) return code_name(Code::not_found);
  std::string text;
  for (const auto& [id, batch] : found->batches) text += text_of(id, batch);
  for (const auto& [name, schedule] : found->schedules) text += text_of(name, schedule);
  for (const Lane lane : {Lane::waiting, Lane::held})
    for (const std::string& id : model_.list(queue, lane))
      text += text_of_after(id, found->jobs.at(id).after);
  return text;
}

std::string Pair::real_text(const std::string& queue, std::size_t page) {
  const auto found = bench_->get_queue(queue);
  if (!found) return code_name(found.error().code());
  std::string text = found->paused ? "paused\n" : "";
  text += "counts" + text_of(bench_->count(queue).value()) + "\n";
  for (const queue::Job& job : list_all(bench_, {.queue = queue, .limit = page, .payload = true}))
    text += text_of(job) + "\n";
  const auto groups = bench_->list_groups(queue);
  if (!groups) return text + groups.error().to_string();
  for (const queue::Group& group : *groups)
    text += "group " + group.name + " " + limit_text(group.limit) + ":" +
            text_of(bench_->count(queue, group.name).value()) + "\n";
  return text;
}

std::string Pair::model_text(const std::string& queue) const {
  const Queue* found = model_.find(queue);
  if (found == nullptr) return code_name(Code::not_found);
  std::string text = found->paused ? "paused\n" : "";
  text += "counts" + text_of(model_.count(queue)) + "\n";
  for (const std::string& id : model_.list(queue))
    text += text_of(*model_.find({queue, id})) + "\n";
  for (const auto& [name, group] : found->groups)
    if (!name.empty())
      text += "group " + name + " " + limit_text(group.limit) + ":" +
              text_of(model_.count(queue, name)) + "\n";
  return text;
}

void Pair::compare_queue(const std::string& queue, std::size_t step) {
  RC_ASSERT(real_text(queue, 1 + step % 7) == model_text(queue));
  if (model_.find(queue) == nullptr) return;
  const Lane lane = static_cast<Lane>(1 + step % kLaneCount);
  const std::string& group = kGroups[step / kLaneCount % kGroups.size()];
  std::vector<std::string> real;
  for (const queue::Job& job :
       list_all(bench_, {.queue = queue, .lane = lane, .group = group, .limit = 1 + step % 3}))
    real.push_back(job.id);
  std::vector<std::string> told = model_.list(queue, lane, group);
  std::ranges::sort(real);
  std::ranges::sort(told);
  RC_ASSERT(real == told);
  if (model_.find(queue)->reviewing) return;  // Blocked groups are let in by the next claim.
  const auto next = bench_->peek(queue, 1 + step % 5);
  agree("peek", status_of(next), Code::ok);
  std::vector<std::string> peeked;
  for (const queue::Job& job : *next) peeked.push_back(job.id);
  RC_ASSERT(peeked == model_.peek(queue, 1 + step % 5));
}

void Pair::compare(std::size_t step) {
  for (const std::string& queue : kQueues) {
    compare_queue(queue, step);
    compare_events(queue);
    RC_ASSERT(real_flows(queue) == model_flows(queue));
  }
}

}  // namespace sluice::queue::model
