// SPDX-License-Identifier: MIT
#include "server/work.h"

#include <utility>

#include "server/answer.h"

namespace sluice::server {

struct Work::Writing {
  Work& work;
  Call call;
  kv::WriteClass write_class;
  Body body;
  Answer answer = {};
};

void Work::write(Call call, kv::WriteClass write_class, Body body) {
  write(
      std::unique_ptr<Writing>(new Writing{*this, std::move(call), write_class, std::move(body)}));
}

// The store's until `done`, which it calls exactly once: functions that hold no more than a pointer
// need no memory of their own.
void Work::write(std::unique_ptr<Writing> owned) {
  Writing* const writing = owned.release();
  writing->work.access_.queues().store().submit(
      [writing](kv::Transaction& txn) {
        writing->answer = Answer();
        return writing->body(txn, writing->answer);
      },
      [writing](const Result<kv::Commit>& commit) {
        std::unique_ptr<Writing> back(writing);
        if (commit && back->answer.status == kAgain) return write(std::move(back));
        if (commit) back->call.room.use(back->answer.jobs);
        back->call.exchange.reply(commit ? std::move(back->answer)
                                         : back->work.tell_failure_(commit.error()));
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

bool Work::take_room(Call& call, std::size_t jobs) {
  if (!call.grant) return true;
  auto room = call.grant->take_room(jobs);
  if (room) call.room = std::move(*room);
  return room.has_value();
}

// Many of those it knows of may be gone by now.
void Work::recount_room(Call call, std::size_t jobs, std::function<void(Call call)> go) {
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
