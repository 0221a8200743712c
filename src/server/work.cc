// SPDX-License-Identifier: MIT
#include "server/work.h"

#include <utility>

#include "server/answer.h"

namespace sluice::server {

namespace {

bool take_room(Call& call, std::size_t jobs) {
  if (!call.grant) return true;
  auto room = call.grant->take_room(jobs);
  if (room) call.room = std::move(*room);
  return room.has_value();
}

}  // namespace

struct Work::Writing {
  Work& work;
  Call call;
  kv::WriteClass write_class;
  Body body;
  Answer answer = {};
};

void Work::write(Call call, kv::WriteClass write_class, Body body) {
  write(std::make_shared<Writing>(Writing{*this, std::move(call), write_class, std::move(body)}));
}

void Work::write(const std::shared_ptr<Writing>& writing) {
  access_.queues().store().submit(
      [writing](kv::Transaction& txn) {
        writing->answer = Answer();
        return writing->body(txn, writing->answer);
      },
      [writing](const Result<kv::Commit>& commit) {
        Work& work = writing->work;
        if (commit && writing->answer.status == kAgain) return work.write(writing);
        if (commit) writing->call.room.use(writing->answer.jobs);
        writing->call.exchange.reply(commit ? std::move(writing->answer)
                                            : work.tell_failure_(commit.error()));
      },
      {.write_class = writing->write_class});
}

void Work::run(Call call, std::function<void(Call call)> errand) {
  const auto held = std::make_shared<Call>(std::move(call));
  const bool taken = errands_.run([held, errand = std::move(errand)] { errand(std::move(*held)); });
  if (!taken)
    held->exchange.reply(
        tell_failure_({Code::unavailable, "too many requests wait: try again in a moment"}));
}

void Work::with_room(Call call, std::size_t jobs, std::function<void(Call call)> go) {
  if (take_room(call, jobs)) return go(std::move(call));
  // Many of those it knows of may be gone by now.
  run(std::move(call), [this, jobs, go = std::move(go)](Call held) {
    const Status counted = held.grant->recount(access_.queues(), access_.clock());
    if (!counted.ok()) return held.exchange.reply(tell_failure_(counted));
    if (take_room(held, jobs)) return go(std::move(held));
    ++access_.limited().by_backlog;
    held.exchange.reply(limited_answer(held.request().head.target, std::chrono::seconds(1),
                                       "as many jobs wait in the queues of this token as it may "
                                       "have there"));
  });
}

void Work::look_up(Call call, std::function<Result<net::HttpResponse>()> look) {
  run(std::move(call), [this, look = std::move(look)](Call held) {
    auto answer = look();
    held.exchange.reply(answer ? std::move(*answer) : tell_failure_(answer.error()));
  });
}

}  // namespace sluice::server
