// SPDX-License-Identifier: MIT
// Names that are none: every parameter that is a name, with every kind of bad one.
#include <gtest/gtest.h>
#include <sluice/queue.h>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "queue/bad_input_testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class BadNameTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(BadNameTest);

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

TEST_P(BadNameTest, a_name_that_is_no_name_is_refused) {
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

TEST_P(BadNameTest, a_name_of_256_bytes_and_any_characters_is_fine) {
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

}  // namespace
}  // namespace sluice::queue
