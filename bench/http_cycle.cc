// SPDX-License-Identifier: MIT
#include "http_cycle.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sluice/clock.h>
#include <sys/socket.h>

#include <array>
#include <thread>

#include "first_failure.h"
#include "net/http_head.h"
#include "queue_load.h"

namespace sluice::bench {
namespace {

Failure broken(std::string_view what) {
  return error(Code::unavailable, "the server: " + std::string(what));
}

/// The text between `begin` and the next quotation mark.
Result<std::string> quoted(const std::string& text, std::string_view begin) {
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) return broken("no " + std::string(begin) + " in " + text);
  const std::size_t from = at + begin.size();
  return text.substr(from, text.find('"', from) - from);
}

class Cycler {
 public:
  Cycler(Caller caller, unsigned worker) : caller_(std::move(caller)), worker_(worker) {}

  Status run(const Clock& clock, MonoTime until) {
    for (std::uint64_t n = 0; clock.mono() < until; ++n) {
      SLUICE_TRY(timed(clock, "/queue/push",
                       fmt::format(R"({{"teamId":"{}","job":{{"id":"{}-{}","data":"{}",)"
                                   R"("priority":10,"listenable":false}}}})",
                                   kQueue, worker_, n, std::string(kPayloadBytes, 'x'))));
      SLUICE_TRY(timed(clock, fmt::format("/queue/pop/{}", kQueue), R"({"workerId":"w"})"));
      SLUICE_LET(key, quoted(answer_, R"("queueKey":")"));
      SLUICE_TRY(timed(clock, "/queue/complete", fmt::format(R"({{"queueKey":"{}"}})", key)));
      if (answer_ != R"({"success":true})") return broken(answer_);
      ++cycles_.count;
    }
    return {};
  }
  Cycles& cycles() { return cycles_; }

 private:
  Status timed(const Clock& clock, std::string_view path, std::string_view body) {
    const MonoTime began = clock.mono();
    SLUICE_LET(answer, caller_.call("POST", path, body));
    cycles_.request_ms.push_back(
        std::chrono::duration<double, std::milli>(clock.mono() - began).count());
    answer_ = std::move(answer);
    return {};
  }

  Caller caller_;
  const unsigned worker_;
  std::string answer_;
  Cycles cycles_;
};

}  // namespace

Result<Caller> Caller::connect(const std::string& url) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0)
    return broken("cannot connect to " + url);
  const int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return Caller(std::move(socket));
}

Status Caller::send(std::string_view method, std::string_view path, std::string_view body) const {
  const std::string text = fmt::format(
      "{} {} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: "
      "{}\r\n\r\n{}",
      method, path, body.size(), body);
  const ssize_t sent = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(text.size()) ? Status() : broken("it takes nothing").status;
}

Result<std::string> Caller::receive() {
  for (;;) {
    if (const std::size_t head = net::head_bytes(text_); head != 0) {
      const auto parsed = net::parse_response_head(text_.substr(0, head));
      if (!parsed || parsed->status / 100 != 2) return broken(text_);
      const std::size_t size = head + parsed->body_bytes;
      if (text_.size() >= size) {
        std::string body = text_.substr(head, parsed->body_bytes);
        text_.erase(0, size);
        return body;
      }
    }
    std::array<char, 16 * 1024> bytes;
    const ssize_t count = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (count <= 0) return broken("it has gone");
    text_.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

Result<std::string> Caller::call(std::string_view method, std::string_view path,
                                 std::string_view body) {
  SLUICE_TRY(send(method, path, body));
  return receive();
}

Result<Cycles> run_cycles(const std::string& url, unsigned workers, unsigned seconds) {
  std::vector<Cycler> cyclers;
  for (unsigned i = 0; i < workers; ++i) {
    SLUICE_LET(caller, Caller::connect(url));
    cyclers.emplace_back(std::move(caller), i);
  }
  const Clock& clock = system_clock();
  const MonoTime until = clock.mono() + std::chrono::seconds(seconds);
  FirstFailure failure;
  {
    std::vector<std::jthread> threads;
    for (Cycler& cycler : cyclers)
      threads.emplace_back([&] {
        if (const Status status = cycler.run(clock, until); !status.ok()) failure.note(status);
      });
  }
  SLUICE_TRY(failure.get());
  Cycles all;
  for (Cycler& cycler : cyclers) {
    Cycles& own = cycler.cycles();
    all.count += own.count;
    all.request_ms.insert(all.request_ms.end(), own.request_ms.begin(), own.request_ms.end());
  }
  return all;
}

}  // namespace sluice::bench
