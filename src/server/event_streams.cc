// SPDX-License-Identifier: MIT
#include "server/event_streams.h"

#include <utility>

#include "server/v1_json.h"

namespace sluice::server {
namespace {

constexpr std::size_t kEventsPerPart = 200;
static_assert(kEventsPerPart <= queue::kPageMax);
// While somebody has more to get.
constexpr Duration kPeriodBusy = std::chrono::milliseconds(1);
constexpr std::string_view kGreeting = "retry: 1000\n\n";
constexpr std::string_view kStillHere = ":\n\n";
constexpr std::string_view kGap = "event: gap\ndata: {}\n\n";

std::string text_of(const queue::EventPage& page) {
  std::string text(page.gap ? kGap : "");
  for (const queue::Event& event : page.events) {
    codec::json::Writer writer;
    put(writer, event);
    text.append("id: ").append(event.cursor).append("\ndata: ").append(writer.take());
    text.append("\n\n");
  }
  return text;
}

}  // namespace

void put(codec::json::Writer& writer, const queue::Event& event) {
  writer.object().name("id").string(event.id);
  if (event.from) writer.name("from").string(queue::lane_name(*event.from));
  writer.name("to").string(queue::lane_name(event.to)).name("attempt").number(event.attempt);
  writer.name("at").number(to_ms(event.at)).name("cursor").string(event.cursor).end_object();
}

/// Counts as open until the last who knows it lets it go.
std::shared_ptr<EventStreams::Stream> EventStreams::counted(Stream stream) {
  const MutexLock lock(mutex_);
  if (stopped_ || open_ == kStreamsMax) return {};
  ++open_;
  return {new Stream(std::move(stream)), [this](Stream* one) {
            delete one;
            const MutexLock let_go(mutex_);
            --open_;
          }};
}

Status EventStreams::open(net::Exchange& exchange, Stream stream) {
  std::shared_ptr<Stream> one = counted(std::move(stream));
  if (!one) return error(Code::unavailable, "too many follow events already: try again in a while");
  exchange.reply(
      {.content_type = "text/event-stream",
       .body = std::string(kGreeting),
       .headers = {{"Cache-Control", "no-store"}},
       .more = [this, one = std::move(one)](net::Exchange next) { wait(std::move(next), one); }});
  return {};
}

void EventStreams::wait(net::Exchange exchange, std::shared_ptr<Stream> stream) {
  Waiting one{std::move(exchange), std::move(stream), access_.clock().mono()};
  {
    const MutexLock lock(mutex_);
    if (!stopped_) {
      waiting_.push_back(std::move(one));
      if (!thread_.joinable())
        thread_ = std::jthread([this](const std::stop_token& stop) { follow(stop); });
      changed_.notify_all();
      return;
    }
  }
  one.exchange.reply({});
}

void EventStreams::stop() {
  std::jthread thread;
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    thread = std::move(thread_);
    thread.request_stop();
  }
  changed_.notify_all();
  // The thread is joined by its destructor.
}

void EventStreams::follow(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::vector<Waiting> all;
    {
      MutexLock lock(mutex_);
      while (waiting_.empty() && !stop.stop_requested()) changed_.wait(lock);
      all = std::exchange(waiting_, {});
    }
    std::vector<Waiting> quiet;
    bool busy = false;
    for (Waiting& one : all)
      if (!serve(one, busy)) quiet.push_back(std::move(one));
    {
      const MutexLock lock(mutex_);
      for (Waiting& one : quiet) waiting_.push_back(std::move(one));
    }
    access_.clock().sleep_for(busy ? kPeriodBusy : kPeriod, stop);
  }
  std::vector<Waiting> rest;
  {
    const MutexLock lock(mutex_);
    rest = std::exchange(waiting_, {});
  }
  for (Waiting& one : rest) one.exchange.reply({});
}

/// Whether something was sent, be it the end. Makes `busy` true if there is more.
bool EventStreams::serve(Waiting& one, bool& busy) {
  Stream& stream = *one.stream;
  if (stream.grant && !access_.is_good(*stream.grant)) {
    one.exchange.reply({});
    return true;
  }
  const auto page = access_.queues().events(
      {.queue = stream.queue, .after = stream.after, .limit = kEventsPerPart});
  // As when the queue was removed; the client asks again and learns why.
  if (!page) {
    one.exchange.reply({});
    return true;
  }
  stream.after = page->next;
  busy = busy || page->events.size() == kEventsPerPart;
  std::string text = text_of(*page);
  if (!text.empty()) {
    send(one, std::move(text));
    return true;
  }
  if (access_.clock().mono() - one.since < kSignOfLife) return false;
  if (one.exchange.is_gone())
    one.exchange.reply({});
  else
    send(one, std::string(kStillHere));
  return true;
}

void EventStreams::send(Waiting& one, std::string text) {
  one.exchange.reply(
      {.body = std::move(text), .more = [this, stream = std::move(one.stream)](net::Exchange next) {
         wait(std::move(next), stream);
       }});
}

}  // namespace sluice::server
