// SPDX-License-Identifier: MIT
#include "net/http_client.h"

#include <latch>
#include <optional>

#include "base/check.h"
#include "base/mutex.h"
#include "net/client_call.h"
#include "net/client_pool.h"
#include "net/loop.h"
#include "net/tls.h"

namespace sluice::net {
namespace {

class Client final : public HttpClient {
 public:
  Client(HttpClientOptions options, std::shared_ptr<TlsContext> tls, std::unique_ptr<Loop> own);
  ~Client() override;

  void call(ClientRequest request, Done done) override;
  Result<ClientResponse> call(ClientRequest request) override;
  HttpClientStats stats() const override { return pool_->stats(); }

 private:
  Result<std::shared_ptr<ClientCall>> prepare(ClientRequest request, const Done& done);
  Result<std::shared_ptr<TlsContext>> tls();

  const std::string ca_file_;
  const Duration call_time_;
  const std::unique_ptr<Loop> own_;
  Loop& loop_;
  const std::shared_ptr<ClientPool> pool_;
  Mutex mutex_;
  std::shared_ptr<TlsContext> tls_ SLUICE_GUARDED_BY(mutex_);
};

Client::Client(HttpClientOptions options, std::shared_ptr<TlsContext> tls,
               std::unique_ptr<Loop> own)
    : ca_file_(options.ca_file),
      call_time_(options.call_time),
      own_(std::move(own)),
      loop_(own_ ? *own_ : *options.loop),
      pool_(std::make_shared<ClientPool>(loop_, std::move(options))),
      tls_(std::move(tls)) {
  if (loop_.is_this_thread()) {
    pool_->begin();
    return;
  }
  // Waits, because a loop that stopped before would not tell the pool.
  const auto begun = std::make_shared<std::latch>(1);
  const bool posted = loop_.post([pool = pool_, begun] {
    pool->begin();
    begun->count_down();
  });
  SLUICE_CHECK(posted);
  begun->wait();
}

Client::~Client() {
  if (loop_.is_this_thread()) {
    SLUICE_CHECK(!own_);
    pool_->shut();
  } else {
    loop_.post([pool = pool_] { pool->shut(); });
    pool_->wait_until_over();
  }
  pool_->end_look_ups();
  if (own_) own_->stop();
}

/// What the system trusts takes a while to read, and most clients never need it.
Result<std::shared_ptr<TlsContext>> Client::tls() {
  const MutexLock lock(mutex_);
  if (!tls_) {
    SLUICE_LET(fresh, load_trust(ca_file_));
    tls_ = std::move(fresh);
  }
  return tls_;
}

Result<std::shared_ptr<ClientCall>> Client::prepare(ClientRequest request, const Done& done) {
  const Duration time = request.time == Duration() ? call_time_ : request.time;
  SLUICE_LET(call, make_call(std::move(request), done));
  call->deadline = later(loop_.now(), time);
  if (call->url.scheme != HttpUrl::Scheme::https) return call;
  SLUICE_LET(trust, tls());
  call->tls = trust;
  return call;
}

void Client::call(ClientRequest request, Done done) {
  auto call = prepare(std::move(request), done);
  if (!call) return done(tl::unexpected(call.error()));
  if (!loop_.post([pool = pool_, added = *call] { pool->add(added); }))
    done(error(Code::cancelled, "the client's loop has ended"));
}

Result<ClientResponse> Client::call(ClientRequest request) {
  SLUICE_CHECK(!loop_.is_this_thread());
  struct Waiting {
    std::optional<Result<ClientResponse>> result = {};
    std::latch done{1};
  };
  // Shared: the other thread may still be about to leave the latch when this one returns.
  const auto waiting = std::make_shared<Waiting>();
  call(std::move(request), [waiting](Result<ClientResponse> result) {
    waiting->result = std::move(result);
    waiting->done.count_down();
  });
  waiting->done.wait();
  return std::move(*waiting->result);
}

}  // namespace

Result<std::unique_ptr<HttpClient>> HttpClient::open(HttpClientOptions options) {
  if (options.connections_max == 0 || options.connections_per_host_max == 0)
    return error(Code::invalid_argument, "a client needs at least one connection");
  std::shared_ptr<TlsContext> tls;
  if (!options.ca_file.empty()) {
    SLUICE_LET(trust, load_trust(options.ca_file));
    tls = std::move(trust);
  }
  std::unique_ptr<Loop> own;
  if (options.loop == nullptr) {
    own = std::make_unique<Loop>(*options.clock);
    own->start();
  }
  return std::make_unique<Client>(std::move(options), std::move(tls), std::move(own));
}

}  // namespace sluice::net
