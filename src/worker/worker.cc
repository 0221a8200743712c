// SPDX-License-Identifier: MIT
#include "worker/worker.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "worker/follow_up.h"
#include "worker/places.h"

namespace sluice::worker {
namespace {

constexpr std::size_t kPrefetchMax = 64;
// Output files of runs that wrote nothing, kept to be used again: a new file costs more.
constexpr std::size_t kSpareLogs = 64;
constexpr Duration kAhead = std::chrono::milliseconds(30);
// When this machine cannot run a job (no disk space, no processes), it is offered again after this.
constexpr Duration kNotNow = std::chrono::seconds(5);

}  // namespace

Worker::Worker(queue::Queues& queues, WorkerOptions options, exec::LockFile locks, exec::Lock lock,
               RunBook book, std::string name)
    : queues_(queues),
      options_(std::move(options)),
      clock_(*options_.clock),
      locks_(std::move(locks)),
      lock_(std::move(lock)),
      name_(std::move(name)),
      started_(queues.store().now()),
      book_(std::move(book)),
      environments_(queues.store()),
      context_{.dir = options_.dir,
               .worker = name_,
               .locks = locks_,
               .environments = environments_,
               .clock = clock_,
               .spare_logs = spare_logs_,
               .output_bytes_max = options_.output_bytes_max},
      look_at_(clock_.mono()),
      extend_at_(clock_.mono() + options_.lease / 3),
      sweep_at_(clock_.mono()) {}

Result<std::unique_ptr<Worker>> Worker::open(queue::Queues& queues, WorkerOptions options) {
  if (options.slots < 1 || options.slots > kSlotsMax)
    return error(Code::invalid_argument, "a worker has 1 to 1,024 slots");
  if (options.queues.empty() || options.queues.size() > queue::kClaimQueuesMax)
    return error(Code::invalid_argument, "a worker serves 1 to 64 queues");
  SLUICE_LET(locks, exec::LockFile::open(lock_path(options.dir)));
  std::string name = new_worker_name();
  SLUICE_LET(lock, locks.try_lock(worker_place(name)));
  if (!lock) return error(Code::unavailable, "the name of this worker is taken: start it again");
  SLUICE_LET(book, RunBook::open(options.dir, name, locks.identity()));
  std::unique_ptr<Worker> worker(new Worker(queues, std::move(options), std::move(locks),
                                            std::move(*lock), std::move(book), std::move(name)));
  SLUICE_TRY(worker->enter());
  return worker;
}

Status Worker::enter() {
  SLUICE_TRY(register_self());
  SLUICE_LET(exchange, Exchange::open(queues_, {.queues = options_.queues,
                                                .worker = name_,
                                                .lease = options_.lease,
                                                .log = options_.log}));
  exchange_ = std::move(exchange);
  return {};
}

Worker::~Worker() {
  runs_.clear();  // Kills what runs; it is given back with the worker's other jobs.
  exchange_.reset();
  for (const std::string& log : spare_logs_) unlink(log.c_str());
  // What the store could not take is for the next worker, who needs both.
  if (clean_end_ && queues_.forget_worker(name_).ok()) remove_run_book(options_.dir, name_);
}

Status Worker::register_self() {
  char host[65] = {};
  gethostname(host, sizeof host - 1);
  return queues_.register_worker({.name = name_,
                                  .host = host,
                                  .pid = static_cast<std::uint64_t>(getpid()),
                                  .slots = options_.slots,
                                  .queues = options_.queues,
                                  .started = started_},
                                 queue::kDelayMax);
}

void Worker::watch(int fd, std::function<void()> ready) {
  watches_.push_back({fd, std::move(ready)});
}

void Worker::stop(Stop how) {
  if (how <= stopping_) return;
  stopping_ = how;
  give_back_waiting();
  if (how < Stop::hand_back) return;
  for (const auto& run : runs_) {
    run->stop(Run::Stop::hand_back);
    if (how == Stop::kill) run->kill();
  }
}

void Worker::stop_harder() {
  stop(stopping_ == Stop::none    ? Stop::drain
       : stopping_ == Stop::drain ? Stop::hand_back
                                  : Stop::kill);
}

void Worker::scale(unsigned slots) {
  options_.slots = std::clamp(slots, 1U, kSlotsMax);
  if (const Status status = register_self(); !status.ok())
    note(LogLevel::warning, status.message());
}

Status Worker::run() {
  const Status worked = work();
  if (!worked.ok()) return worked;
  SLUICE_TRY(exchange_->finish());
  Exchange::Taken left = exchange_->take();
  std::ranges::move(left.spare, std::back_inserter(spare_logs_));
  for (const queue::Lease& lease : left.leases)
    if (const Status back = queues_.release({.queue = lease.queue, .token = lease.token});
        !back.ok() && back.code() != Code::lease_lost)
      return back;
  clean_end_ = true;
  return {};
}

Status Worker::work() {
  while (!done()) {
    start_jobs();
    want_more();
    wait_for_something(tick());
    SLUICE_TRY(take_leases());
    end_jobs();
    if (clock_.mono() >= look_at_) SLUICE_TRY(look_around());
    if (options_.drain && stopping_ == Stop::none) {
      SLUICE_LET(nothing_left, drained());
      is_drained_ = nothing_left;
    }
  }
  return {};
}

bool Worker::done() const {
  return runs_.empty() && waiting_.empty() && (stopping_ != Stop::none || is_drained_);
}

void Worker::wait_for_something(MonoTime until) {
  std::vector<pollfd> fds;
  fds.reserve(runs_.size() + watches_.size() + 1);
  fds.push_back({.fd = exchange_->wake_fd(), .events = POLLIN, .revents = 0});
  for (const Watch& watch : watches_) fds.push_back({watch.fd, POLLIN, 0});
  for (const auto& run : runs_) fds.push_back({run->pidfd(), POLLIN, 0});
  const Duration left = until - clock_.mono();
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  poll(fds.data(), fds.size(), static_cast<int>(std::clamp<std::int64_t>(ms, 0, 60'000)));
  for (std::size_t i = 0; i < watches_.size(); ++i)
    if ((fds[i + 1].revents & POLLIN) != 0) watches_[i].ready();
}

// --- beginnings

Status Worker::take_leases() {
  Exchange::Taken taken = exchange_->take();
  SLUICE_TRY(taken.failure);
  std::ranges::move(taken.spare, std::back_inserter(spare_logs_));
  for (; spare_logs_.size() > kSpareLogs; spare_logs_.pop_back())
    unlink(spare_logs_.back().c_str());
  for (const queue::Token& token : taken.lost)
    for (const auto& run : runs_)
      if (run->lease().token == token) run->stop(Run::Stop::lost);
  // What was claimed before earlier jobs were back in their places would be run before them.
  const bool out_of_turn = returning_ > 0;
  returning_ -= std::min(returning_, taken.released);
  if (!taken.leases.empty()) asked_ = false;
  for (queue::Lease& lease : taken.leases) accept(std::move(lease));
  if (stopping_ != Stop::none || out_of_turn) give_back_waiting();
  return {};
}

void Worker::accept(queue::Lease lease) {
  auto command = decode_command(lease.payload);
  if (command) {
    waiting_.push_back({std::move(lease), std::move(*command), clock_.mono()});
    return;
  }
  const Report report{.problem = "its payload is not a command that queuectl can run"};
  hand_over(
      {.request = queue::FailRequest{
           .queue = lease.queue, .token = lease.token, .error = to_text(report), .dead = true}});
  tell(Happening::Kind::dead, lease, "", &report);
}

unsigned Worker::slots_of(const Command& command) const {
  return std::min(command.slots, options_.slots);
}

unsigned Worker::used_slots() const {
  unsigned used = 0;
  for (const auto& run : runs_) used += slots_of(run->command());
  return used;
}

unsigned Worker::free_slot() const {
  unsigned slot = 0;
  const auto taken = [&] {
    return std::ranges::any_of(runs_, [&](const auto& run) { return run->slot() == slot; });
  };
  while (taken()) ++slot;
  return slot;
}

// In the order that they were claimed: a job that needs many slots is not overtaken.
void Worker::start_jobs() {
  while (!waiting_.empty() && used_slots() + slots_of(waiting_.front().command) <= options_.slots) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    start(std::move(next));
  }
}

// What was claimed a moment ago may have been cancelled since, or its queue paused.
bool Worker::may_start(const queue::Lease& lease) {
  if (!is_ours(lease)) return false;
  const auto queue = queues_.get_queue(lease.queue);
  if (!queue || !queue->paused) return true;
  hand_over({.request = queue::ReleaseRequest{.queue = lease.queue, .token = lease.token}});
  return false;
}

/// Whether the lease is still in force, as far as the store can be read.
bool Worker::is_ours(const queue::Lease& lease) const {
  const auto job = queues_.get({lease.queue, lease.id});
  if (!job) return job.error().code() != Code::not_found;
  return job->lane == queue::Lane::leased && queue::Token{job->number, job->claims} == lease.token;
}

void Worker::start(Waiting waiting) {
  const queue::Lease lease = waiting.lease;
  if (!may_start(lease)) return;
  auto run = Run::start(context_, std::move(waiting.lease), std::move(waiting.command),
                        queues_.store().now(), free_slot());
  if (!run) return put_off(lease, run.error());
  book_.note((*run)->slot(),
             {.token = lease.token, .session = (*run)->session(), .started = (*run)->started()});
  runs_.push_back(std::move(*run));
  tell(Happening::Kind::started, lease, to_line(runs_.back()->command()));
}

void Worker::put_off(const queue::Lease& lease, const Status& why) {
  note(LogLevel::warning, lease.id + " could not be started: " + why.message());
  if (why.code() == Code::lease_lost) return;
  hand_over({.request = queue::ReleaseRequest{
                 .queue = lease.queue, .token = lease.token, .delay = kNotNow}});
}

void Worker::give_back_waiting(std::size_t but_first) {
  while (waiting_.size() > but_first) {
    const queue::Lease& lease = waiting_.back().lease;
    hand_over({.request = queue::ReleaseRequest{.queue = lease.queue, .token = lease.token}});
    waiting_.pop_back();
  }
}

// As many as can start at once, and those that will be needed before the next ones can be here.
// They are fetched many at a time, when half of them are used up.
void Worker::want_more() {
  const std::size_t ahead = prefetch();
  const bool hungry = waiting_.size() <= ahead / 2;
  const std::size_t free = options_.slots - std::min(options_.slots, used_slots());
  const std::size_t aim = free + ahead;
  const std::size_t missing = aim - std::min(aim, waiting_.size());
  const bool enough = !hungry || stopping_ != Stop::none || is_drained_;
  // Once: what ends while they are on their way is settled with the next.
  const bool flushing = flush_is_due(hungry && !asked_);
  exchange_->want(enough ? 0 : std::min(missing, queue::kClaimJobsMax), flushing);
  if (flushing) unsettled_since_.reset();
  asked_ = asked_ || (hungry && !enough);
}

void Worker::hand_over(Settlement settlement) {
  if (settlement.is_release()) ++returning_;
  exchange_->settle(std::move(settlement));
  if (!unsettled_since_) unsettled_since_ = clock_.mono();
}

// A run that has ended is settled with the next ones that do, if those are soon: one sync for many.
bool Worker::flush_is_due(bool asking) const {
  if (!unsettled_since_) return false;
  const bool late = clock_.mono() - *unsettled_since_ >= kSettleMax;
  return asking || late || runs_.empty() || stopping_ != Stop::none;
}

// Work for kAhead. For jobs that take long it is none: what one worker holds in advance another
// cannot run. How long the jobs of now will take is not known, but not less than they have taken.
std::size_t Worker::prefetch() const {
  if (!run_time_) return 0;
  Duration each = std::max<Duration>(*run_time_, std::chrono::microseconds(1));
  if (used_slots() >= options_.slots) {
    MonoTime latest = {};
    for (const auto& run : runs_) latest = std::max(latest, run->started());
    each = std::max(each, clock_.mono() - latest);
  }
  return std::min<std::size_t>(static_cast<std::size_t>(options_.slots * kAhead / each),
                               kPrefetchMax);
}

// --- endings

void Worker::end_jobs() {
  for (std::size_t i = 0; i < runs_.size();) {
    const std::optional<Report> report = runs_[i]->ended();
    if (!report) {
      ++i;
      continue;
    }
    // One that takes long outweighs several that do not, and is forgotten after a dozen.
    const Duration mean = run_time_.value_or(report->wall);
    run_time_ = report->wall < mean ? (mean + report->wall) / 2 : (mean * 7 + report->wall) / 8;
    const std::unique_ptr<Run> run = std::move(runs_[i]);
    runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(i));
    settle(*run, *report);
  }
}

void Worker::settle(const Run& run, const Report& report) {
  const queue::Lease& lease = run.lease();
  const std::string line = to_line(run.command());
  if (run.stopping() == Run::Stop::lost) return tell(Happening::Kind::lost, lease, line);
  if (run.not_now()) return put_off(lease, {Code::unavailable, report.problem});
  if (run.stopping() == Run::Stop::hand_back) {
    hand_over({.request = queue::ReleaseRequest{.queue = lease.queue, .token = lease.token}});
    return tell(Happening::Kind::handed_back, lease, line);
  }
  if (!report.succeeded()) return settle_failure(run, report);
  hand_over(
      {.request =
           queue::AckRequest{.queue = lease.queue, .token = lease.token, .result = to_text(report)},
       .follow_up =
           follow_up({lease.queue, lease.id}, lease.priority, run.command(), report, false),
       .spare = report.output_bytes == 0 ? run.log() : std::string()});
  tell(Happening::Kind::completed, lease, line, &report);
}

void Worker::settle_failure(const Run& run, const Report& report) {
  const queue::Lease& lease = run.lease();
  bool dead = report.exit_code && !may_retry(run.command(), *report.exit_code);
  queue::FailRequest request{
      .queue = lease.queue, .token = lease.token, .error = to_text(report), .dead = dead};
  const auto job = queues_.get({lease.queue, lease.id});
  if (job && job->retry) dead = dead || lease.attempt >= job->retry->attempts_max;
  std::optional<queue::NewJob> next;
  if (dead) next = follow_up({lease.queue, lease.id}, lease.priority, run.command(), report, true);
  hand_over({.request = std::move(request),
             .follow_up = std::move(next),
             .spare = report.output_bytes == 0 ? run.log() : std::string()});
  tell(dead ? Happening::Kind::dead : Happening::Kind::failed, lease, to_line(run.command()),
       &report);
}

void Worker::tell(Happening::Kind kind, const queue::Lease& lease, const std::string& command,
                  const Report* report) const {
  if (!options_.tell) return;
  options_.tell({.kind = kind,
                 .queue = lease.queue,
                 .id = lease.id,
                 .command = command,
                 .attempt = lease.attempt,
                 .report = report});
}

void Worker::note(LogLevel level, const std::string& line) const {
  if (options_.log) options_.log(level, line);
}

}  // namespace sluice::worker
