// SPDX-License-Identifier: MIT
#include "net/client_stream.h"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <boost/asio/ssl/stream.hpp>

#include "net/address.h"

namespace sluice::net {
namespace {

class PlainStream final : public ClientStream {
 public:
  explicit PlainStream(Loop& loop) : socket_(loop.context()) {}

  Task<std::string> shake_hands() override { co_return ""; }
  Task<Got> read_some(asio::mutable_buffer into) override {
    return socket_.async_read_some(into, kTuple);
  }
  Task<Got> write_some(asio::const_buffer from) override {
    return socket_.async_write_some(from, kTuple);
  }
  Socket& socket() override { return socket_; }

 private:
  Socket socket_;
};

class TlsStream final : public ClientStream {
 public:
  TlsStream(Loop& loop, std::shared_ptr<TlsContext> tls, std::string host)
      : tls_(std::move(tls)), host_(std::move(host)), stream_(loop.context(), *tls_) {}

  Task<std::string> shake_hands() override;
  Task<Got> read_some(asio::mutable_buffer into) override {
    return stream_.async_read_some(into, kTuple);
  }
  Task<Got> write_some(asio::const_buffer from) override {
    return stream_.async_write_some(from, kTuple);
  }
  Socket& socket() override { return stream_.next_layer(); }

 private:
  bool expect_host();

  const std::shared_ptr<TlsContext> tls_;
  const std::string host_;
  asio::ssl::stream<Socket> stream_;
};

/// The certificate must be for this host. An address is never sent as a server's name (RFC 6066).
bool TlsStream::expect_host() {
  SSL* const raw = stream_.native_handle();
  if (numeric_address(host_, 0))
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(raw), host_.c_str()) == 1;
  SSL_set_hostflags(raw, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return SSL_set_tlsext_host_name(raw, host_.c_str()) == 1 &&
         SSL_set1_host(raw, host_.c_str()) == 1;
}

Task<std::string> TlsStream::shake_hands() {
  SSL* const raw = stream_.native_handle();
  if (!expect_host()) co_return "its name cannot be checked against a certificate; check the name";
  const auto [problem] = co_await stream_.async_handshake(stream_.client, kTuple);
  if (const long verdict = SSL_get_verify_result(raw); verdict != X509_V_OK)
    co_return std::string("its certificate is not trusted: ") +
        X509_verify_cert_error_string(verdict) +
        "; if it should be, trust the authority that signed it";
  if (problem)
    co_return "no TLS handshake: " + problem.message() + "; check that it speaks TLS 1.2 or later";
  co_return "";
}

}  // namespace

std::unique_ptr<ClientStream> make_plain_stream(Loop& loop) {
  return std::make_unique<PlainStream>(loop);
}

std::unique_ptr<ClientStream> make_tls_stream(Loop& loop, std::shared_ptr<TlsContext> tls,
                                              std::string host) {
  return std::make_unique<TlsStream>(loop, std::move(tls), std::move(host));
}

}  // namespace sluice::net
