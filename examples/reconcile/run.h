// SPDX-License-Identifier: MIT
// The work: reports are claimed from the durable queue and looked at by a pool of workers, behind a
// breaker and a token bucket for each platform.
#pragma once

#include <sluice/runtime.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <map>
#include <mutex>

#include "cli/visible.h"
#include "codec/percent.h"
#include "net/http_client.h"
#include "reports.h"

namespace reconcile {

inline constexpr std::uint32_t kWorkers = 64;

struct Run {
  queue::Queues& queues;
  net::HttpClient& http;
  std::string url;  ///< Posts are at URL/PLATFORM/posts/POST.
  Duration call_time;
  Duration missing_retry;        ///< Until a post that was missing is looked for again.
  std::int64_t missing_retries;  ///< So often; then its report is unverifiable.
  bool drain;                    ///< End when every report has its last word.
  runtime::Breakers breakers;
  runtime::Limiter limiter;
  const Clock& clock = system_clock();
  std::mutex mutex = {};
  std::map<std::string, MonoTime> silent_until = {};  ///< As platforms wished. Under the mutex.
  std::map<std::string, std::string> shown = {};      ///< The states of platforms, as last told.
  runtime::Bucket redraws{{.tokens = 10}};            ///< Of the line that shows progress.
  std::uint64_t open = 1;                             ///< Reports without a last word.

  /// Until a signal comes, or all is drained.
  Status work(const sigset_t& signals) {
    SLUICE_TRY(queues.configure(
        kQueue, {.lease = call_time + 10s,
                 .retry = {.attempts_max = queue::kAttemptsMax, .base = 1s, .cap = 1min},
                 .lapses_max = queue::kAttemptsMax,  // That we were killed is no report's fault.
                 .active_max = kWorkers,
                 .group_max = kWorkers / 8}));  // A slow platform keeps no more of them waiting.
    SLUICE_TRY(take_back());
    runtime::ThreadExecutor threads;
    runtime::Pool<queue::Lease> pool(
        threads,
        {.workers = {.base = kWorkers, .max = kWorkers}, .retry = {.attempts_max = UINT32_MAX}},
        [this](const auto& job) { return look(job.payload); });
    const timespec at_once = {};
    while ((open > 0 || !drain) && sigtimedwait(&signals, nullptr, &at_once) < 0) {
      const queue::ClaimRequest request{
          .queues = {kQueue}, .jobs_max = kWorkers, .skip_groups = resting(), .wait = 100ms};
      SLUICE_LET(leases, queues.claim(request));
      for (const queue::Lease& lease : leases)
        SLUICE_TRY(pool.enqueue({.id = lease.id, .payload = lease, .priority = lease.priority}));
      SLUICE_TRY(show());
    }
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);  // The next one ends it at once.
    pool.stop();
    SLUICE_TRY(pool.join());
    SLUICE_TRY(take_back());
    return show();
  }

  /// One report. If its platform is not to be asked now, it goes back to its place in the queue.
  runtime::Outcome look(const queue::Lease& lease) {
    const queue::ReleaseRequest back{.queue = kQueue, .token = lease.token};
    if (is_silent(lease.group)) return queues.release(back);
    auto call = breakers.get(lease.group).value()->admit();
    if (!call) return queues.release(back);
    if (const auto take = limiter.take(lease.group); !take.taken)
      return runtime::Outcome::retry("no token", take.ready_at - clock.mono());
    const auto found = ask(lease);
    call->finish(status_of(found));
    if (found) return settle(lease, *found);
    return queues.fail({.queue = kQueue, .token = lease.token, .error = found.error().message()});
  }

  /// The figures; nothing if the platform does not know the post.
  Result<std::optional<Figures>> ask(const queue::Lease& lease) {
    SLUICE_LET(report, parse_report(lease.payload));
    const std::string path =
        codec::percent_encode(report.platform) + "/posts/" + codec::percent_encode(report.post);
    SLUICE_LET(answer, http.call({.url = url + "/" + path, .time = call_time}));
    if (answer.status == 404) return std::nullopt;
    if (const std::string* after = answer.find("Retry-After"); after && answer.status == 429) {
      const auto seconds = std::min(std::strtoul(after->c_str(), nullptr, 10), 3'600UL);
      const std::lock_guard lock(mutex);
      silent_until[report.platform] = clock.mono() + std::chrono::seconds(seconds);
    }
    if (answer.status != 200)
      return error(Code::unavailable, "answered " + std::to_string(answer.status));
    SLUICE_LET(value, json::parse(answer.body));
    return parse_figures(value);
  }

  /// The platform has answered, if only that it does not know the post.
  Status settle(const queue::Lease& lease, const std::optional<Figures>& found) {
    SLUICE_LET(report, parse_report(lease.payload));
    const auto body = [&](kv::Transaction& txn) -> Status {
      queue::Scope jobs(queues, txn);
      SLUICE_LET(before, txn.get(kResults + report.id));
      const auto looks = before ? *member<std::int64_t>(*json::parse(*before), "looks") : 0;
      const bool again = !found && looks < missing_retries;
      // The result and the end of the job, or neither: whoever has lost the lease writes nothing.
      txn.put(kResults + report.id, write_result(report, found, looks + 1, again));
      if (!again) return jobs.ack({.queue = kQueue, .token = lease.token});
      return jobs.fail(
          {.queue = kQueue, .token = lease.token, .error = "no such post", .delay = missing_retry});
    };
    return status_of(queues.store().run(body, {.write_class = kv::WriteClass::drain}));
  }

  bool is_silent(const std::string& platform) {
    const std::lock_guard lock(mutex);
    return silent_until[platform] > clock.mono();
  }

  /// The platforms that are not to be asked now: their reports are not even claimed.
  std::vector<std::string> resting() {
    std::vector<std::string> platforms;
    for (const auto& [platform, view] : breakers.list())
      if (view.state == runtime::BreakerState::half_open || view.next_probe_at > clock.mono() ||
          is_silent(platform))
        platforms.push_back(platform);
    return platforms;
  }

  /// What is leased while no worker runs was in the hands of one that was killed, or stopped.
  Status take_back() {
    SLUICE_LET(page, queues.list({.queue = kQueue, .lane = queue::Lane::leased}));
    for (const queue::Job& job : page.jobs)
      (void)queues.break_lease({.queue = kQueue, .id = job.id});  // It may have just ended.
    return {};
  }

  /// Tells which platforms have changed, and where the reports are.
  Status show() {
    const char* const afresh = isatty(2) ? "\x1b[K" : "";
    for (const auto& [platform, view] : breakers.list()) {
      const std::string state = is_silent(platform) ? "silent" : breaker_state_name(view.state);
      if (std::exchange(shown.try_emplace(platform, "closed").first->second, state) != state)
        std::fprintf(stderr, "%s%s: %s%s\n", afresh, cli::visible(platform).c_str(), state.c_str(),
                     state == "open" ? (", " + cli::visible(view.reason)).c_str() : "");
    }
    SLUICE_LET(reports, queues.count(kQueue));
    if (isatty(2) && redraws.take().taken)
      std::fprintf(stderr, "%s%lu ready, %lu in hand, %lu put off\r", afresh, reports.ready,
                   reports.leased, reports.scheduled);
    open = reports.backlog() + reports.leased;
    return {};
  }
};

}  // namespace reconcile
