// SPDX-License-Identifier: MIT
#include "server/compat.h"

#include "server/answer.h"

namespace sluice::server {
namespace {

// More teams than this are looked up again now and then.
constexpr std::size_t kTeamsKnownMax = 100'000;

bool is_json(std::string_view content_type) {
  const std::string_view type = content_type.substr(0, content_type.find(';'));
  const std::size_t end = type.find_last_not_of(" \t");
  const std::string_view plain = type.substr(0, end == type.npos ? 0 : end + 1);
  if (net::equal_ignoring_case(plain, "application/json")) return true;
  constexpr std::string_view kBegin = "application/";
  constexpr std::string_view kEnd = "+json";
  return plain.size() > kBegin.size() + kEnd.size() &&
         net::equal_ignoring_case(plain.substr(0, kBegin.size()), kBegin) &&
         net::equal_ignoring_case(plain.substr(plain.size() - kEnd.size()), kEnd);
}

/// Of the names in the address. Answers by itself if one is too long.
bool check_names(Call& call) {
  for (const std::string& part : call.parts)
    if (part.size() > kNameBytesMax) {
      call.exchange.reply(text_answer(422, "An id has 1 to 256 bytes."));
      return false;
    }
  return true;
}

}  // namespace

std::optional<codec::json::Value> read_json(Call& call) {
  const net::HttpRequest& request = call.request();
  const std::string_view* type = request.head.find("content-type");
  if (type == nullptr || !is_json(*type)) {
    call.exchange.reply(text_answer(415, "The body must be JSON: content-type application/json."));
    return {};
  }
  auto body = codec::json::parse(request.body, {.raw = "data", .round_integers = true});
  if (body) return std::move(*body);
  answer_refusal(call, 400, body.error());
  return {};
}

bool check_team(Call& call, May may, std::string_view team) {
  const Status allowed = call.check(may, team);
  if (!allowed.ok()) call.exchange.reply(failure_answer(allowed));
  return allowed.ok();
}

void answer_refusal(Call& call, unsigned status, const Status& why) {
  call.exchange.reply(text_answer(status, why.message()));
}

void Compat::add_to(Routes& routes) {
  using On = Need::On;
  const auto add = [&](std::string_view method, std::string_view path, Need need,
                       void (Compat::*handler)(Call)) {
    routes.add(method, path, need, [this, handler](Call call) {
      if (check_names(call)) (this->*handler)(std::move(call));
    });
  };
  const auto add_for = [&](std::string_view method, std::string_view path, Need need,
                           void (Compat::*handler)(Call, Owner), Owner owner) {
    routes.add(method, path, need, [this, handler, owner](Call call) {
      if (check_names(call)) (this->*handler)(std::move(call), owner);
    });
  };
  // A crawl may have jobs in every team, and a job's id may be in several.
  const Need read_all{May::read, On::everything};
  const Need work_all{May::work, On::everything};
  const Need care_all{May::admin, On::everything};
  const Need read_team{May::read, On::part};
  const Need work_team{May::work, On::part};
  const Need care_team{May::admin, On::part};
  add("POST", "/queue/push", {May::enqueue, On::body}, &Compat::push);
  add("POST", "/queue/pop/:team", work_team, &Compat::pop);
  add("POST", "/queue/complete", {May::work, On::body}, &Compat::complete);
  add("POST", "/queue/release", work_all, &Compat::release);
  add("GET", "/queue/count/team/:team", read_team, &Compat::count_team);
  add("GET", "/queue/count/crawl/:crawl", read_all, &Compat::count_crawl);
  add("GET", "/queue/jobs/team/:team", read_team, &Compat::list_jobs);
  add_for("POST", "/active/push", {May::work, On::body}, &Compat::push_marker, Owner::team);
  add_for("DELETE", "/active/remove", {May::work, On::body}, &Compat::remove_marker, Owner::team);
  add_for("GET", "/active/count/:team", read_team, &Compat::count_markers, Owner::team);
  add_for("GET", "/active/jobs/:team", read_team, &Compat::list_markers, Owner::team);
  add_for("POST", "/active/crawl/push", work_all, &Compat::push_marker, Owner::crawl);
  add_for("DELETE", "/active/crawl/remove", work_all, &Compat::remove_marker, Owner::crawl);
  add_for("GET", "/active/crawl/jobs/:crawl", read_all, &Compat::list_markers, Owner::crawl);
  add("POST", "/cleanup/expired-jobs", care_all, &Compat::clean_jobs);
  add("POST", "/cleanup/expired-active-jobs", care_all, &Compat::clean_markers);
  add("POST", "/cleanup/orphaned-claims", care_all, &Compat::clean_claims);
  add("POST", "/cleanup/stale-counters", care_all, &Compat::clean_crawls);
  add_for("POST", "/reconcile/team/queue/:team", care_team, &Compat::reconcile_jobs, Owner::team);
  add_for("POST", "/reconcile/team/active/:team", care_team, &Compat::reconcile_markers,
          Owner::team);
  add_for("POST", "/reconcile/crawl/queue/:crawl", care_all, &Compat::reconcile_jobs, Owner::crawl);
  add_for("POST", "/reconcile/crawl/active/:crawl", care_all, &Compat::reconcile_markers,
          Owner::crawl);
  add("GET", "/sample/teams", read_all, &Compat::sample_teams);
  add("GET", "/sample/crawls", read_all, &Compat::sample_crawls);
}

bool Compat::knows(const std::string& team) {
  const MutexLock lock(mutex_);
  return teams_.contains(team);
}

void Compat::remember(const std::string& team) {
  const MutexLock lock(mutex_);
  if (teams_.size() >= kTeamsKnownMax) teams_.clear();
  teams_.insert(team);
}

/// A team's queue keeps nothing that has ended, and gives no job up.
Status Compat::prepare(const std::string& team) {
  const auto known = queues_.get_queue(team);
  if (!known) {
    if (known.error().code() != Code::not_found) return known.error();
    queue::QueueConfig config;
    config.lease = options_.lease;
    config.lapses_max = queue::kAttemptsMax;
    config.retry.attempts_max = queue::kAttemptsMax;  // A lapse uses up an attempt, too.
    config.dead_retention = Duration{};
    SLUICE_TRY(queues_.configure(team, config));
  }
  remember(team);
  return {};
}

std::int64_t Compat::now_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             queues_.store().now().time_since_epoch())
      .count();
}

}  // namespace sluice::server
