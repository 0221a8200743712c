// SPDX-License-Identifier: MIT
#include "net/http_connection.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "net/chunked.h"

namespace sluice::net {
namespace {

constexpr std::size_t kReadBytes = 4 * 1024;
// A body grows by so much at a time, so that a length alone takes no memory.
constexpr std::size_t kBodyStep = 64 * 1024;
// Answers up to this size are sent with their head.
constexpr std::size_t kJoinedMax = 16 * 1024;
// After a refusal, what still comes is read for a while: else the answer may never be seen.
constexpr Duration kLingerTime = std::chrono::seconds(2);
constexpr std::size_t kLingerBytes = 4 * 1024 * 1024;

/// On the loop's list as long as it lives.
class Watch {
 public:
  Watch(Loop& loop, Watched* one) : loop_(loop), one_(one) { loop_.watch(one_); }
  ~Watch() { loop_.unwatch(one_); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  Loop& loop_;
  Watched* one_;
};

std::string_view text_of(const boost::beast::flat_buffer& buffer) {
  return {static_cast<const char*>(buffer.cdata().data()), buffer.size()};
}

}  // namespace

class HttpConnection::Waiter {
 public:
  virtual ~Waiter() = default;
  virtual void resume() = 0;
};

template <class Handler>
class HttpConnection::HandlerWaiter : public Waiter {
 public:
  explicit HandlerWaiter(Handler handler) : handler_(std::move(handler)) {}
  void resume() override { std::move(handler_)(); }

 private:
  Handler handler_;
};

HttpConnection::HttpConnection(std::shared_ptr<Loop> loop, std::shared_ptr<HttpShared> shared,
                               std::string peer)
    : loop_(std::move(loop)), shared_(std::move(shared)) {
  request_.peer = std::move(peer);
}

HttpConnection::~HttpConnection() {
  shared_->leave(request_.peer);
}

void HttpConnection::enter(Phase phase, Duration time) {
  phase_ = phase;
  deadline_ = time == Duration::max() ? MonoTime::max() : loop_->now() + time;
}

void HttpConnection::look(MonoTime now) {
  if (now < deadline_) return;
  if (phase_ != Phase::idle || is_new_) ++shared_->too_slow;
  close();
}

/// One that says that it will send no more is taken for one that has left.
bool HttpConnection::is_gone() const {
  const MutexLock lock(closing_);
  if (gone_) return true;
  pollfd peer{.fd = descriptor(), .events = POLLRDHUP, .revents = 0};
  return poll(&peer, 1, 0) == 1;
}

void HttpConnection::close() {
  const MutexLock lock(closing_);
  gone_ = true;
  boost::system::error_code ignored;
  socket().close(ignored);
}

void HttpConnection::close_if_idle() {
  if (phase_ == Phase::idle) close();
}

Task<void> HttpConnection::serve() {
  const Watch watch(*loop_, this);
  enter(Phase::idle, shared_->options.head_time);
  if (!co_await shake_hands()) co_return close();
  for (Duration rest = shared_->options.head_time;; rest = shared_->options.idle_time) {
    if (buffer_.size() == 0) {
      if (shared_->draining) co_return close();
      enter(Phase::idle, rest);
      if (!co_await fill()) co_return close();
    }
    enter(Phase::head, shared_->options.head_time);
    if (!co_await read_request()) co_return close();
    is_new_ = false;
    ++shared_->requests;
    HttpResponse response = co_await handle(shared_->handler);
    if (!co_await write_response(std::move(response))) co_return close();
    let_go();
  }
}

/// What a large request needed, the next one probably does not, and perhaps there is none.
void HttpConnection::let_go() {
  if (request_.body.capacity() > kReadBytes) {
    request_.body.clear();
    request_.body.shrink_to_fit();
  }
  if (buffer_.size() == 0 && buffer_.capacity() > 2 * kReadBytes) buffer_.shrink_to_fit();
}

Task<bool> HttpConnection::fill() {
  const auto [problem, count] = co_await read_some(buffer_.prepare(kReadBytes));
  buffer_.commit(count);
  co_return !problem && count > 0;
}

/// Its size; 0 if it was refused or the client has left.
Task<std::size_t> HttpConnection::read_head() {
  const std::size_t bytes_max = shared_->options.head_bytes_max;
  for (std::size_t looked_at = 0;;) {
    const std::string_view text = text_of(buffer_);
    const std::size_t found = head_bytes(text.substr(0, bytes_max), looked_at);
    if (found != 0) co_return found;
    looked_at = text.size();
    if (looked_at >= bytes_max) {
      co_await refuse({431, "The head of the request is too large."});
      co_return 0;
    }
    if (!co_await fill()) co_return 0;
  }
}

Task<bool> HttpConnection::read_request() {
  const std::size_t size = co_await read_head();
  if (size == 0) co_return false;
  head_.assign(text_of(buffer_).substr(0, size));
  auto head = parse_request_head(head_, shared_->options.head);
  if (!head) {
    co_await refuse(head.error());
    co_return false;
  }
  request_.head = std::move(*head);
  request_.body.clear();
  if (request_.head.body_bytes > shared_->options.body_bytes_max) {
    co_await refuse({413, "The body is too large."});
    co_return false;
  }
  co_return co_await read_body(size);
}

Task<bool> HttpConnection::read_body(std::size_t head_bytes) {
  buffer_.consume(head_bytes);
  const bool chunked = request_.head.chunked;
  if (!chunked && request_.head.body_bytes == 0) co_return true;
  body_began_ = loop_->now();
  body_bytes_ = 0;
  enter(Phase::body, shared_->options.body_time);
  const bool all_here = !chunked && buffer_.size() >= request_.head.body_bytes;
  if (request_.head.expects_continue && !all_here)
    if (!co_await write("HTTP/1.1 100 Continue\r\n\r\n")) co_return false;
  phase_ = Phase::body;
  // Not with ?: which GCC 12 gets wrong around co_await.
  if (chunked) co_return co_await read_chunked_body();
  co_return co_await read_sized_body();
}

void HttpConnection::extend_body_deadline() {
  const auto seconds = std::chrono::seconds(body_bytes_ / shared_->options.rate_min);
  deadline_ = body_began_ + shared_->options.body_time + seconds;
}

Task<bool> HttpConnection::read_sized_body() {
  std::string& body = request_.body;
  const std::size_t size = request_.head.body_bytes;
  const std::size_t here = std::min(size, buffer_.size());
  body.assign(text_of(buffer_).substr(0, here));
  buffer_.consume(here);
  while (body.size() < size) {
    const std::size_t before = body.size();
    body.resize(before + std::min(size - before, kBodyStep));
    const auto [problem, count] =
        co_await read_some(asio::buffer(body.data() + before, body.size() - before));
    body.resize(before + count);
    if (problem || count == 0) co_return false;
    body_bytes_ += count;
    extend_body_deadline();
  }
  co_return true;
}

Task<bool> HttpConnection::read_chunked_body() {
  ChunkedBody chunks(shared_->options.body_bytes_max);
  for (;;) {
    buffer_.consume(chunks.take(text_of(buffer_), request_.body));
    if (chunks.state() == ChunkedBody::State::done) co_return true;
    if (chunks.state() == ChunkedBody::State::wrong) {
      co_await refuse({400, "The body is not chunked as it should be."});
      co_return false;
    }
    if (chunks.state() == ChunkedBody::State::too_big) {
      co_await refuse({413, "The body is too large."});
      co_return false;
    }
    const std::size_t before = buffer_.size();
    if (!co_await fill()) co_return false;
    body_bytes_ += buffer_.size() - before;
    extend_body_deadline();
  }
}

Task<HttpResponse> HttpConnection::handle(const std::function<void(Exchange)>& handler) {
  enter(Phase::handling, Duration::max());
  handler(Exchange(shared_from_this()));
  if (!response_)
    co_await asio::async_initiate<const asio::use_awaitable_t<Executor>, void()>(
        [this](auto resume) {
          waiter_ = std::make_unique<HandlerWaiter<decltype(resume)>>(std::move(resume));
        },
        kAwait);
  co_return std::move(*std::exchange(response_, std::nullopt));
}

void HttpConnection::answer(std::shared_ptr<Channel> self, HttpResponse response) {
  if (loop_->is_this_thread()) return accept_answer(std::move(response));
  from_afar_ = std::move(response);
  loop_->post([this, self = std::move(self)] { accept_answer(std::move(from_afar_)); });
}

void HttpConnection::abandon() {
  close();
  waiter_.reset();
}

void HttpConnection::accept_answer(HttpResponse response) {
  response_ = std::move(response);
  if (const std::unique_ptr<Waiter> waiter = std::move(waiter_)) waiter->resume();
}

Task<bool> HttpConnection::write(std::string_view text) {
  const HttpServerOptions& options = shared_->options;
  const MonoTime began = loop_->now();
  for (std::size_t written = 0; written < text.size();) {
    // Neither still for long, nor a byte now and then for ever.
    enter(Phase::writing, options.write_time);
    const auto seconds = std::chrono::seconds(written / options.rate_min);
    deadline_ = std::min(deadline_, began + options.write_time + seconds);
    const auto [problem, count] = co_await write_some(asio::buffer(text.substr(written)));
    if (problem) co_return false;
    written += count;
  }
  co_return true;
}

Task<bool> HttpConnection::write_response(HttpResponse response) {
  if (response.more) co_return co_await write_stream(std::move(response));
  const bool keep_alive = request_.head.keep_alive && !response.close && !shared_->draining;
  const bool without_body = request_.head.method == "HEAD";
  std::string text = response_head(response, keep_alive, loop_->date());
  if (!without_body && response.body.size() <= kJoinedMax) text += response.body;
  if (!co_await write(text)) co_return false;
  if (!without_body && response.body.size() > kJoinedMax)
    if (!co_await write(response.body)) co_return false;
  if (keep_alive) co_return true;
  // A client that asked for the end has no more to say; TLS has an end of its own to tell.
  const bool all_said = !request_.head.keep_alive && !response.close && buffer_.size() == 0;
  if (!all_said || request_.secure) co_await linger();
  co_return false;
}

/// Its end is the end of the connection.
Task<bool> HttpConnection::write_stream(HttpResponse response) {
  std::string text = response_head(response, false, loop_->date()) + response.body;
  for (;;) {
    if (!co_await write(text)) co_return false;
    if (!response.more) break;
    const std::function<void(Exchange)> more = std::move(response.more);
    response = co_await handle(more);
    text = std::move(response.body);
  }
  co_await linger();
  co_return false;
}

Task<void> HttpConnection::refuse(Refusal refusal) {
  ++shared_->malformed;
  request_.head.keep_alive = false;
  request_.head.method = {};
  HttpResponse response{.status = refusal.status,
                        .content_type = "text/plain; charset=utf-8",
                        .body = std::string(refusal.why) + "\n",
                        .close = true};
  co_await write_response(std::move(response));
}

Task<void> HttpConnection::linger() {
  co_await finish_writing();
  enter(Phase::idle, kLingerTime);
  buffer_.consume(buffer_.size());
  for (std::size_t read = 0; read < kLingerBytes;) {
    const auto [problem, count] = co_await read_some(buffer_.prepare(kReadBytes));
    if (problem || count == 0) co_return;
    read += count;
  }
}

}  // namespace sluice::net
