// SPDX-License-Identifier: MIT
// Every kind of bad input: the code it gets, that the message says something, that nothing has
// changed; and that what is just within a limit is let through.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

/// One call and the code that it must get.
struct Case {
  std::string name;
  Code code;
  std::function<Status(const Bench&)> call;
};

// A refused call must leave every key as it was, and a message.
void try_case(const Bench& bench, const Case& one) {
  SCOPED_TRACE(one.name);
  const Dump before = dump(bench);
  const Status status = one.call(bench);
  EXPECT_EQ(code_name(status.code()), std::string(code_name(one.code))) << status.to_string();
  if (status.ok()) return;
  EXPECT_FALSE(status.message().empty());
  EXPECT_EQ(dump(bench), before);
}

// Each case meets the same queue: one job in each lane that matters.
struct Scene {
  Bench bench;
  Token token = {};  ///< Of the job "leased".
};

Scene scene(EngineKind engine) {
  Scene made{.bench = open_bench(engine)};
  const Bench& bench = made.bench;
  must(bench->configure("work", {.done_retention = 1h, .dead_retention = 1h}));
  must(status_of(bench->enqueue({.queue = "work", .id = "leased"})));
  made.token = must_claim(bench, "work").token;
  must(status_of(bench->enqueue({.queue = "work", .id = "ready"})));
  must(status_of(bench->enqueue({.queue = "work", .id = "held", .hold = true})));
  must(status_of(bench->enqueue({.queue = "work", .id = "scheduled", .delay = 1h})));
  must(status_of(bench->enqueue({.queue = "work", .id = "cancelled"})));
  must(bench->cancel({"work", "cancelled"}));
  return made;
}

void try_each(EngineKind engine, const std::function<std::vector<Case>(Token)>& cases) {
  for (std::size_t i = 0;; ++i) {
    const Scene fresh = scene(engine);
    const std::vector<Case> all = cases(fresh.token);
    if (i == all.size()) break;
    try_case(fresh.bench, all[i]);
    EXPECT_EQ(breaches(fresh.bench), "") << all[i].name;
  }
}

class BadInputTest : public OnEngines {};

// ------------------------------------------------------------------------------------------ names

/// A parameter that is a name.
struct NameField {
  const char* name;
  bool empty_is_fine;
  std::function<Status(const Bench&, const std::string&)> call;
};

void add_request_names(std::vector<NameField>& fields, Token token) {
  fields.insert(
      fields.end(),
      {{"enqueue queue", false,
        [](auto& b, auto& n) { return status_of(b->enqueue({.queue = n})); }},
       {"enqueue id", true,
        [](auto& b, auto& n) { return status_of(b->enqueue({.queue = "work", .id = n})); }},
       {"enqueue group", true,
        [](auto& b, auto& n) { return status_of(b->enqueue({.queue = "work", .group = n})); }},
       {"claim queue", false,
        [](auto& b, auto& n) { return status_of(b->claim({.queues = {n}})); }},
       {"claim worker", true,
        [](auto& b, auto& n) { return status_of(b->claim({.queues = {"work"}, .worker = n})); }},
       {"claim skip_groups", false,
        [](auto& b, auto& n) {
          return status_of(b->claim({.queues = {"work"}, .skip_groups = {n}}));
        }},
       {"extend queue", false,
        [=](auto& b, auto& n) { return status_of(b->extend({.queue = n, .token = token})); }},
       {"ack queue", false, [=](auto& b, auto& n) { return b->ack({.queue = n, .token = token}); }},
       {"ack child queue", false,
        [=](auto& b, auto& n) {
          return b->ack({.queue = "work", .token = token, .children = {{.queue = n}}});
        }},
       {"fail queue", false,
        [=](auto& b, auto& n) { return b->fail({.queue = n, .token = token}); }},
       {"release queue", false,
        [=](auto& b, auto& n) { return b->release({.queue = n, .token = token}); }},
       {"cancel queue", false, [](auto& b, auto& n) { return b->cancel({n, "job"}); }},
       {"cancel id", false, [](auto& b, auto& n) { return b->cancel({"work", n}); }},
       {"requeue queue", false,
        [](auto& b, auto& n) { return b->requeue({.queue = n, .id = "job"}); }},
       {"requeue id", false,
        [](auto& b, auto& n) { return b->requeue({.queue = "work", .id = n}); }},
       {"edit queue", false,
        [](auto& b, auto& n) { return b->edit({.queue = n, .id = "job", .priority = 1}); }},
       {"edit id", false,
        [](auto& b, auto& n) { return b->edit({.queue = "work", .id = n, .priority = 1}); }},
       {"hold id", false, [](auto& b, auto& n) { return b->hold({"work", n}); }},
       {"unhold id", false, [](auto& b, auto& n) { return b->unhold({"work", n}); }},
       {"break_lease id", false, [](auto& b, auto& n) { return b->break_lease({"work", n}); }},
       {"remove id", false, [](auto& b, auto& n) { return b->remove({"work", n}); }}});
}

void add_queue_names(std::vector<NameField>& fields) {
  fields.insert(
      fields.end(),
      {{"configure", false, [](auto& b, auto& n) { return b->configure(n, {}); }},
       {"configure label", false,
        [](auto& b, auto& n) { return b->configure("work", {.labels = {{n, 1}}}); }},
       {"limit_group queue", false, [](auto& b, auto& n) { return b->limit_group(n, "g", 1); }},
       {"limit_group group", false, [](auto& b, auto& n) { return b->limit_group("work", n, 1); }},
       {"pause", false, [](auto& b, auto& n) { return b->pause(n); }},
       {"resume", false, [](auto& b, auto& n) { return b->resume(n); }},
       {"remove_queue", false, [](auto& b, auto& n) { return b->remove_queue(n); }},
       {"purge", false, [](auto& b, auto& n) { return status_of(b->purge(n, Lane::done)); }},
       {"get_queue", false, [](auto& b, auto& n) { return status_of(b->get_queue(n)); }},
       {"list_groups", false, [](auto& b, auto& n) { return status_of(b->list_groups(n)); }},
       {"get queue", false, [](auto& b, auto& n) { return status_of(b->get({n, "job"})); }},
       {"get id", false, [](auto& b, auto& n) { return status_of(b->get({"work", n})); }},
       {"list queue", false, [](auto& b, auto& n) { return status_of(b->list({.queue = n})); }},
       {"list group", true,
        [](auto& b, auto& n) { return status_of(b->list({.queue = "work", .group = n})); }},
       {"peek", false, [](auto& b, auto& n) { return status_of(b->peek(n)); }},
       {"count", false, [](auto& b, auto& n) { return status_of(b->count(n)); }},
       {"count group", false, [](auto& b, auto& n) { return status_of(b->count("work", n)); }},
       {"explain id", false, [](auto& b, auto& n) { return status_of(b->explain({"work", n})); }},
       {"register_worker", false,
        [](auto& b, auto& n) { return b->register_worker({.name = n}, 1min); }},
       {"register_worker queue", false,
        [](auto& b, auto& n) { return b->register_worker({.name = "w", .queues = {n}}, 1min); }},
       {"forget_worker", false, [](auto& b, auto& n) { return b->forget_worker(n); }}});
}

void add_flow_names(std::vector<NameField>& fields) {
  const auto add_after = [](const Bench& b, After after) {
    return b->add_after({.queue = "work", .id = "held", .after = {std::move(after)}});
  };
  fields.insert(
      fields.end(),
      {{"enqueue unique", false,
        [](auto& b, auto& n) {
          return status_of(b->enqueue({.queue = "work", .unique = Unique{.key = n}}));
        }},
       {"enqueue batch", true,
        [](auto& b, auto& n) { return status_of(b->enqueue({.queue = "work", .batch = n})); }},
       {"enqueue after", false,
        [](auto& b, auto& n) {
          return status_of(b->enqueue({.queue = "work", .after = {{.id = n}}}));
        }},
       {"enqueue after queue", true,
        [](auto& b, auto& n) {
          return status_of(b->enqueue({.queue = "work", .after = {{.queue = n, .id = "ready"}}}));
        }},
       {"add_after queue", false,
        [](auto& b, auto& n) { return b->add_after({.queue = n, .id = "held"}); }},
       {"add_after id", false,
        [](auto& b, auto& n) { return b->add_after({.queue = "work", .id = n}); }},
       {"add_after after", false, [=](auto& b, auto& n) { return add_after(b, {.id = n}); }},
       {"add_after after queue", true,
        [=](auto& b, auto& n) { return add_after(b, {.queue = n, .id = "ready"}); }},
       {"open_batch queue", false,
        [](auto& b, auto& n) { return status_of(b->open_batch({.queue = n})); }},
       {"open_batch id", true,
        [](auto& b, auto& n) { return status_of(b->open_batch({.queue = "work", .id = n})); }},
       {"open_batch on_success queue", false,
        [](auto& b, auto& n) {
          return status_of(b->open_batch({.queue = "work", .on_success = NewJob{.queue = n}}));
        }},
       {"open_batch on_end id", true,
        [](auto& b, auto& n) {
          const NewJob job{.queue = "work", .id = n};
          return status_of(b->open_batch({.queue = "work", .on_end = job}));
        }},
       {"seal_batch queue", false, [](auto& b, auto& n) { return b->seal_batch({n, "b"}); }},
       {"seal_batch id", false, [](auto& b, auto& n) { return b->seal_batch({"work", n}); }},
       {"cancel_batch queue", false, [](auto& b, auto& n) { return b->cancel_batch({n, "b"}); }},
       {"cancel_batch id", false, [](auto& b, auto& n) { return b->cancel_batch({"work", n}); }},
       {"get_batch queue", false,
        [](auto& b, auto& n) { return status_of(b->get_batch({n, "b"})); }},
       {"get_batch id", false,
        [](auto& b, auto& n) { return status_of(b->get_batch({"work", n})); }},
       {"list_batches", false, [](auto& b, auto& n) { return status_of(b->list_batches(n)); }}});
}

void add_schedule_names(std::vector<NameField>& fields) {
  fields.insert(
      fields.end(),
      {{"put_schedule queue", false,
        [](auto& b, auto& n) {
          return b->put_schedule({.queue = n, .name = "s", .cron = "@daily"});
        }},
       {"put_schedule name", false,
        [](auto& b, auto& n) {
          return b->put_schedule({.queue = "work", .name = n, .cron = "@daily"});
        }},
       {"put_schedule group", true,
        [](auto& b, auto& n) {
          return b->put_schedule(
              {.queue = "work", .name = "s", .cron = "@daily", .job = {.group = n}});
        }},
       {"put_schedule unique", false,
        [](auto& b, auto& n) {
          const NewJob job{.unique = Unique{.key = n}};
          return b->put_schedule({.queue = "work", .name = "s", .cron = "@daily", .job = job});
        }},
       {"pause_schedule queue", false, [](auto& b, auto& n) { return b->pause_schedule(n, "s"); }},
       {"pause_schedule name", false,
        [](auto& b, auto& n) { return b->pause_schedule("work", n); }},
       {"resume_schedule name", false,
        [](auto& b, auto& n) { return b->resume_schedule("work", n); }},
       {"run_schedule name", false,
        [](auto& b, auto& n) { return status_of(b->run_schedule("work", n)); }},
       {"remove_schedule name", false,
        [](auto& b, auto& n) { return b->remove_schedule("work", n); }},
       {"get_schedule queue", false,
        [](auto& b, auto& n) { return status_of(b->get_schedule(n, "s")); }},
       {"get_schedule name", false,
        [](auto& b, auto& n) { return status_of(b->get_schedule("work", n)); }},
       {"list_schedules", false, [](auto& b, auto& n) { return status_of(b->list_schedules(n)); }},
       {"events", false, [](auto& b, auto& n) { return status_of(b->events({.queue = n})); }},
       {"events_end", false, [](auto& b, auto& n) { return status_of(b->events_end(n)); }}});
}

void add_operation_names(std::vector<NameField>& fields, Token token) {
  fields.insert(
      fields.end(),
      {{"enqueue operation", true,
        [](auto& b, auto& n) {
          return status_of(b->enqueue({.queue = "work"}, {.operation = n}));
        }},
       {"claim operation", true,
        [](auto& b, auto& n) { return status_of(b->claim({.queues = {"work"}, .operation = n})); }},
       {"ack operation", true,
        [=](auto& b, auto& n) {
          return b->ack({.queue = "work", .token = token}, {.operation = n});
        }},
       {"cancel operation", true,
        [](auto& b, auto& n) { return b->cancel({"work", "ready"}, {.operation = n}); }},
       {"add_after operation", true,
        [](auto& b, auto& n) {
          return b->add_after({.queue = "work", .id = "held", .after = {{.id = "ready"}}},
                              {.operation = n});
        }},
       {"open_batch operation", true,
        [](auto& b, auto& n) {
          return status_of(b->open_batch({.queue = "work"}, {.operation = n}));
        }},
       {"seal_batch operation", true,
        [](auto& b, auto& n) { return b->seal_batch({"work", "none"}, {.operation = n}); }},
       {"cancel_batch operation", true,
        [](auto& b, auto& n) { return b->cancel_batch({"work", "none"}, {.operation = n}); }},
       {"batch operation", true, [](auto& b, auto& n) {
          const std::vector<NewJob> jobs(2, NewJob{.queue = "work"});
          return status_of(b->enqueue(jobs, {.operation = n}).front());
        }}});
}

std::vector<NameField> name_fields(Token token) {
  std::vector<NameField> fields;
  add_request_names(fields, token);
  add_queue_names(fields);
  add_flow_names(fields);
  add_schedule_names(fields);
  add_operation_names(fields, token);
  return fields;
}

TEST_P(BadInputTest, a_name_that_is_no_name_is_refused) {
  const std::pair<const char*, std::string> bad[] = {
      {"", ""},
      {"257 bytes", std::string(257, 'n')},
      {"a lone continuation byte", "n\x80"},
      {"a character cut short", "n\xe2\x82"},
      {"an overlong form", "\xc0\xaf"},
      {"a surrogate", "\xed\xa0\x80"},
      {"past the last character", "\xf4\x90\x80\x80"},
      {"a byte that never occurs", "\xff"},
  };
  const Scene fresh = scene(GetParam());
  for (const NameField& field : name_fields(fresh.token))
    for (const auto& [what, name] : bad)
      if (!name.empty() || !field.empty_is_fine)
        try_case(fresh.bench,
                 {std::string(field.name) + ": " + (name.empty() ? "empty" : what),
                  Code::invalid_argument, [&](const Bench& b) { return field.call(b, name); }});
  EXPECT_EQ(breaches(fresh.bench), "");
}

TEST_P(BadInputTest, a_name_of_256_bytes_and_any_characters_is_fine) {
  const std::string euro = "\xe2\x82\xac";
  std::string odd("\x00\x7f \n|/", 6);
  while (odd.size() + euro.size() <= kNameBytesMax) odd += euro;
  for (const std::string& name : {std::string(256, 'n'), odd}) {
    for (std::size_t i = 0; i < name_fields({}).size(); ++i) {
      const Scene fresh = scene(GetParam());
      const NameField field = name_fields(fresh.token)[i];
      const Status status = field.call(fresh.bench, name);
      EXPECT_NE(status.code(), Code::invalid_argument) << field.name << ": " << status.to_string();
      EXPECT_EQ(breaches(fresh.bench), "") << field.name;
    }
  }
}

// ------------------------------------------------------------------------------------------ times

TEST_P(BadInputTest, times_are_let_through_up_to_their_limits) {
  try_each(GetParam(), [](Token token) -> std::vector<Case> {
    std::vector<Case> cases;
    const std::pair<Duration, Code> delays[] = {{-1ms, Code::invalid_argument},
                                                {Duration(-1), Code::invalid_argument},
                                                {Duration::min(), Code::invalid_argument},
                                                {0ms, Code::ok},
                                                {kDelayMax, Code::ok},
                                                {kDelayMax + 1ms, Code::invalid_argument},
                                                {Duration::max(), Code::invalid_argument}};
    for (const auto& [delay, code] : delays) {
      const std::string text = " of " + std::to_string(delay.count()) + " ns";
      cases.push_back({"enqueue delay" + text, code, [delay = delay](auto& b) {
                         return status_of(b->enqueue({.queue = "work", .delay = delay}));
                       }});
      cases.push_back({"ttl" + text, code, [delay = delay](auto& b) {
                         return status_of(b->enqueue({.queue = "work", .ttl = delay}));
                       }});
      cases.push_back({"fail delay" + text, code, [=, delay = delay](auto& b) {
                         return b->fail({.queue = "work", .token = token, .delay = delay});
                       }});
      cases.push_back({"release delay" + text, code, [=, delay = delay](auto& b) {
                         return b->release({.queue = "work", .token = token, .delay = delay});
                       }});
    }
    const std::pair<Duration, Code> leases[] = {{-1ms, Code::invalid_argument},
                                                {0ms, Code::invalid_argument},
                                                {kLeaseMin - Duration(1), Code::invalid_argument},
                                                {kLeaseMin, Code::ok},
                                                {kLeaseMax, Code::ok},
                                                {kLeaseMax + 1ms, Code::invalid_argument},
                                                {Duration::max(), Code::invalid_argument}};
    for (const auto& [lease, code] : leases) {
      const std::string text = " of " + std::to_string(lease.count()) + " ns";
      cases.push_back({"claim lease" + text, code, [lease = lease](auto& b) {
                         return status_of(b->claim({.queues = {"work"}, .lease = lease}));
                       }});
      cases.push_back({"extend lease" + text, code, [=, lease = lease](auto& b) {
                         return status_of(
                             b->extend({.queue = "work", .token = token, .lease = lease}));
                       }});
      cases.push_back({"configured lease" + text, code, [lease = lease](auto& b) {
                         return b->configure("work", {.lease = lease});
                       }});
    }
    return cases;
  });
}

TEST_P(BadInputTest, a_due_time_is_let_through_up_to_its_limit) {
  try_each(GetParam(), [](Token) -> std::vector<Case> {
    std::vector<Case> cases;
    const WallTime now = ManualClock().wall();
    const std::pair<WallTime, Code> dues[] = {{WallTime::min(), Code::ok},
                                              {WallTime(Duration(-1)), Code::ok},
                                              {now - 1h, Code::ok},
                                              {now, Code::ok},
                                              {now + kDelayMax, Code::ok},
                                              {now + kDelayMax + 1ms, Code::invalid_argument},
                                              {WallTime::max(), Code::invalid_argument}};
    for (const auto& [due, code] : dues) {
      const std::string text = " at " + std::to_string(due.time_since_epoch().count());
      cases.push_back({"enqueue due" + text, code, [due = due](auto& b) {
                         return status_of(b->enqueue({.queue = "work", .due = due}));
                       }});
      cases.push_back({"edit due" + text, code, [due = due](auto& b) {
                         return b->edit({.queue = "work", .id = "ready", .due = due});
                       }});
    }
    return cases;
  });
}

TEST_P(BadInputTest, a_delay_and_a_due_time_together_are_refused) {
  const Scene fresh = scene(GetParam());
  try_case(fresh.bench,
           {"both", Code::invalid_argument, [](auto& b) {
              return status_of(b->enqueue({.queue = "work", .delay = 1s, .due = b.now() + 1s}));
            }});
}

// ------------------------------------------------------------------------------------------ sizes

std::string bytes_of(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
  return bytes;
}

TEST_P(BadInputTest, payloads_of_all_sizes_come_back_as_they_went_in) {
  const Bench bench = open();
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{1'024}, std::size_t{1'025}, std::size_t{64'000},
        std::size_t{64'001}, kPayloadBytesMax - 1, kPayloadBytesMax}) {
    const std::string payload = bytes_of(size);
    const JobRef ref{"work", must(bench->enqueue({.queue = "work", .payload = payload}))};
    EXPECT_TRUE(must(bench->get(ref, {.payload = true})).payload == payload) << size;
    EXPECT_EQ(must(bench->get(ref)).payload, std::nullopt) << size;
    EXPECT_EQ(must(bench->get(ref)).payload_bytes, size);
    const Lease lease = must_claim(bench, "work");
    EXPECT_TRUE(lease.payload == payload) << size;
    must(bench->ack({.queue = "work", .token = lease.token}));
    EXPECT_EQ(breaches(bench), "") << size;
  }
}

TEST_P(BadInputTest, an_edited_payload_replaces_every_byte_of_the_old_one) {
  const Bench bench = open();
  const JobRef ref{"work", must(bench->enqueue({.queue = "work", .payload = bytes_of(100'000)}))};
  for (const std::size_t size : {std::size_t{3}, std::size_t{70'000}, std::size_t{0},
                                 kPayloadBytesMax, std::size_t{1'025}}) {
    must(bench->edit({.queue = "work", .id = ref.id, .payload = bytes_of(size)}));
    EXPECT_TRUE(must(bench->get(ref, {.payload = true})).payload == bytes_of(size)) << size;
    EXPECT_EQ(breaches(bench), "") << size;
  }
}

TEST_P(BadInputTest, what_is_one_byte_too_long_is_refused) {
  try_each(GetParam(), [](Token token) -> std::vector<Case> {
    const std::string payload = bytes_of(kPayloadBytesMax + 1);
    return {
        {"enqueue payload", Code::invalid_argument,
         [=](auto& b) { return status_of(b->enqueue({.queue = "work", .payload = payload})); }},
        {"edit payload", Code::invalid_argument,
         [=](auto& b) { return b->edit({.queue = "work", .id = "ready", .payload = payload}); }},
        {"result", Code::invalid_argument,
         [=](auto& b) {
           return b->ack(
               {.queue = "work", .token = token, .result = bytes_of(kResultBytesMax + 1)});
         }},
        {"a child's payload", Code::invalid_argument,
         [=](auto& b) {
           return b->ack({.queue = "work",
                          .token = token,
                          .children = {{.queue = "work", .payload = payload}}});
         }},
    };
  });
}

TEST_P(BadInputTest, a_job_for_later_has_a_shorter_payload) {
  for (const std::size_t size : {kTemplateBytesMax, kTemplateBytesMax + 1}) {
    const Code code = size == kTemplateBytesMax ? Code::ok : Code::invalid_argument;
    const std::string payload = bytes_of(size);
    try_each(GetParam(), [=](Token) -> std::vector<Case> {
      return {{"on_success", code,
               [=](auto& b) {
                 const NewJob job{.queue = "work", .payload = payload};
                 return status_of(b->open_batch({.queue = "work", .on_success = job}));
               }},
              {"on_end", code,
               [=](auto& b) {
                 const NewJob job{.queue = "work", .payload = payload};
                 return status_of(b->open_batch({.queue = "work", .on_end = job}));
               }},
              {"schedule", code, [=](auto& b) {
                 return b->put_schedule(
                     {.queue = "work", .name = "s", .cron = "@daily", .job = {.payload = payload}});
               }}};
    });
  }
}

TEST_P(BadInputTest, the_longest_result_is_kept_whole) {
  const Scene fresh = scene(GetParam());
  const std::string result = bytes_of(kResultBytesMax);
  must(fresh.bench->ack({.queue = "work", .token = fresh.token, .result = result}));
  EXPECT_TRUE(must(fresh.bench->get({"work", "leased"})).result == result);
  EXPECT_EQ(breaches(fresh.bench), "");
}

TEST_P(BadInputTest, a_text_that_is_too_long_is_cut_at_the_end_of_a_character) {
  const std::string euro = "\xe2\x82\xac";
  for (const std::string& start : {std::string("x"), std::string("xy")}) {
    std::string longer = start;
    while (longer.size() <= kTextBytesMax) longer += euro;
    const std::size_t kept = start.size() + (kTextBytesMax - start.size()) / 3 * 3;
    const Scene fresh = scene(GetParam());
    must(status_of(
        fresh.bench->extend({.queue = "work", .token = fresh.token, .progress = longer})));
    EXPECT_EQ(must(fresh.bench->get({"work", "leased"})).progress, longer.substr(0, kept));
    must(fresh.bench->fail({.queue = "work", .token = fresh.token, .error = longer}));
    const Job job = must(fresh.bench->get({"work", "leased"}, {.history = true}));
    EXPECT_EQ(job.error, longer.substr(0, kept));
    ASSERT_EQ(job.history.size(), 1u);
    EXPECT_EQ(job.history[0].error, longer.substr(0, kept));
    EXPECT_EQ(breaches(fresh.bench), "");
  }
}

// ------------------------------------------------------------------------------- priority, policy

TEST_P(BadInputTest, a_label_must_be_one_of_the_queues_and_come_alone) {
  try_each(GetParam(), [](Token) -> std::vector<Case> {
    const auto enqueue = [](NewJob job) {
      return [job](const Bench& b) { return status_of(b->enqueue(job)); };
    };
    return {
        {"known", Code::ok, enqueue({.queue = "work", .label = "high"})},
        {"unknown", Code::invalid_argument, enqueue({.queue = "work", .label = "urgent"})},
        {"in another case", Code::invalid_argument, enqueue({.queue = "work", .label = "High"})},
        {"with a priority", Code::invalid_argument,
         enqueue({.queue = "work", .priority = 0, .label = "high"})},
        {"unknown in a queue that is not there", Code::invalid_argument,
         enqueue({.queue = "new", .label = "urgent"})}};
  });
}

TEST_P(BadInputTest, priorities_are_ordered_over_their_whole_range) {
  const Bench bench = open();
  constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min();
  constexpr std::int32_t kHighest = std::numeric_limits<std::int32_t>::max();
  for (const std::int32_t priority : {0, kHighest, -1, kLowest, 1, kHighest - 1, kLowest + 1}) {
    const std::string id = std::to_string(priority);
    must(status_of(bench->enqueue({.queue = "work", .id = id, .priority = priority})));
    must(status_of(
        bench->enqueue({.queue = "work", .id = id + "g", .group = id, .priority = priority})));
  }
  EXPECT_EQ(claim_all(bench, "work"),
            (std::vector<std::string>{"-2147483648", "-2147483648g", "-2147483647", "-2147483647g",
                                      "-1", "-1g", "0", "0g", "1", "1g", "2147483646",
                                      "2147483646g", "2147483647", "2147483647g"}));
}

TEST_P(BadInputTest, a_retry_policy_must_make_sense) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::pair<RetryPolicy, Code> policies[] = {
      {{.attempts_max = 0}, Code::invalid_argument},
      {{.attempts_max = 1}, Code::ok},
      {{.attempts_max = kAttemptsMax}, Code::ok},
      {{.attempts_max = kAttemptsMax + 1}, Code::invalid_argument},
      {{.base = -1ms}, Code::invalid_argument},
      {{.base = 0ms}, Code::ok},
      {{.factor = 0.999}, Code::invalid_argument},
      {{.factor = 1}, Code::ok},
      {{.factor = kNan}, Code::invalid_argument},
      {{.factor = kInfinity}, Code::invalid_argument},
      {{.cap = -1ms}, Code::invalid_argument},
      {{.cap = kDelayMax}, Code::ok},
      {{.jitter = -0.001}, Code::invalid_argument},
      {{.jitter = 1}, Code::ok},
      {{.jitter = 1.001}, Code::invalid_argument},
      {{.jitter = kNan}, Code::invalid_argument},
  };
  std::size_t number = 0;
  for (const auto& [policy, code] : policies) {
    const std::string name = "policy " + std::to_string(number++);
    const Scene fresh = scene(GetParam());
    try_case(fresh.bench, {name + " of a job", code, [policy = policy](auto& b) {
                             return status_of(b->enqueue({.queue = "work", .retry = policy}));
                           }});
    try_case(fresh.bench, {name + " of a queue", code, [policy = policy](auto& b) {
                             return b->configure("work", {.retry = policy});
                           }});
  }
}

INSTANTIATE_ON_ENGINES(BadInputTest);

}  // namespace
}  // namespace sluice::queue
