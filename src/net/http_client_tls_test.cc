// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <latch>

#include "base/check.h"
#include "net/http_client.h"
#include "net/testing.h"
#include "tests/support/temp_dir.h"

namespace sluice::net {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<HttpServer> serve(const TlsFiles& files) {
  return HttpServer::open({.listen = "127.0.0.1:0", .tls = files, .loops = 1},
                          [](Exchange exchange) {
                            std::string body = exchange.request().body;
                            exchange.reply({.body = std::move(body)});
                          })
      .value();
}

std::string port_of(const HttpServer& server) {
  return server.address().substr(server.address().rfind(':'));
}

struct Setting {
  test::TempDir dir = test::TempDir();
  TlsFiles files = make_certificate(dir / "right", "DNS:right.test,DNS:*.wild.test,IP:127.0.0.1");
  std::unique_ptr<HttpServer> server = serve(files);
  std::string port = port_of(*server);

  std::unique_ptr<HttpClient> client() const {
    return open_client({.ca_file = files.certificate, .look_up = everything_is_here()});
  }
};

TEST(HttpClientTls, a_name_or_an_address_that_the_certificate_has_is_trusted) {
  const Setting setting;
  const auto client = setting.client();
  for (const char* host : {"right.test", "RIGHT.test", "a.wild.test", "127.0.0.1"}) {
    const std::string body(100'000, *host);
    for (int i = 0; i < 2; ++i) {
      const auto answer =
          client->call({.method = "POST", .url = "https://" + (host + setting.port), .body = body});
      ASSERT_TRUE(answer) << host << ": " << answer.error().message();
      EXPECT_TRUE(answer->body == body);
    }
  }
  EXPECT_EQ(client->stats().opened, 3u);  // Case makes no difference.
}

TEST(HttpClientTls, another_name_is_not) {
  const Setting setting;
  const auto client = setting.client();
  for (const char* host : {"wrong.test", "wild.test", "a.b.wild.test", "right.test.wrong.test"}) {
    const auto answer = client->call({.url = "https://" + (host + setting.port)});
    ASSERT_FALSE(answer) << host;
    EXPECT_EQ(answer.error().code(), Code::unavailable);
    EXPECT_NE(answer.error().message().find("certificate"), std::string::npos);
  }
  const auto other = make_certificate(setting.dir / "named", "DNS:127.0.0.1");
  const auto server = serve(other);
  const auto fooled = open_client({.ca_file = other.certificate});
  EXPECT_EQ(status_of(fooled->call({.url = "https://127.0.0.1" + port_of(*server)})).code(),
            Code::unavailable);
  EXPECT_EQ(setting.server->stats().requests, 0u);
}

TEST(HttpClientTls, a_certificate_of_strangers_is_not) {
  const Setting setting;
  const std::string url = "https://right.test" + setting.port;
  const auto other = make_certificate(setting.dir / "other", "DNS:right.test");
  for (const std::string& trusted : {other.certificate, std::string()}) {
    const auto client = open_client({.ca_file = trusted, .look_up = everything_is_here()});
    const auto answer = client->call({.url = url});
    ASSERT_FALSE(answer) << trusted;
    EXPECT_EQ(answer.error().code(), Code::unavailable);
    EXPECT_NE(answer.error().message().find("certificate"), std::string::npos);
  }
  EXPECT_EQ(setting.server->stats().requests, 0u);
}

TEST(HttpClientTls, files_that_make_no_sense_are_refused) {
  const test::TempDir dir;
  test::write_file(dir / "junk", "junk");
  for (const std::string& path : {dir / "none", dir / "junk"})
    EXPECT_EQ(HttpClient::open({.ca_file = path}).error().code(), Code::invalid_argument);
}

TEST(HttpClientTls, the_server_is_told_which_name_is_meant) {
  std::string hello;
  std::latch heard(1);
  RawServer server([&](RawPeer& peer, unsigned) {
    hello = peer.some();
    heard.count_down();
  });
  const auto client = open_client({.look_up = everything_is_here()});
  const std::string port = ":" + std::to_string(server.port());
  EXPECT_EQ(status_of(client->call({.url = "https://meant.test" + port})).code(),
            Code::unavailable);
  heard.wait();
  EXPECT_NE(hello.find("meant.test"), std::string::npos);
}

TEST(HttpClientTls, a_handshake_that_hangs_ends_with_the_time_for_connecting) {
  RawServer server([](RawPeer& peer, unsigned) { peer.wait_for_end(); });
  const auto client = open_client({.connect_time = 20ms});
  EXPECT_EQ(
      status_of(client->call({.url = "https://127.0.0.1:" + std::to_string(server.port())})).code(),
      Code::unavailable);
}

TEST(HttpClientTls, a_server_that_speaks_no_tls_is_unavailable) {
  RawServer server([](RawPeer& peer, unsigned) {
    peer.some();
    peer.send("HTTP/1.1 400 Bad Request\r\n\r\n");
  });
  const auto client = open_client();
  EXPECT_EQ(
      status_of(client->call({.url = "https://127.0.0.1:" + std::to_string(server.port())})).code(),
      Code::unavailable);
}

/// Sends an answer that ends with the connection, and ends that with or without saying so in TLS.
class AbruptServer {
 public:
  AbruptServer(const TlsFiles& files, bool says_so)
      : context_(SSL_CTX_new(TLS_server_method()), SSL_CTX_free), says_so_(says_so) {
    SSL_CTX* const raw = context_.get();
    SLUICE_CHECK(SSL_CTX_use_certificate_chain_file(raw, files.certificate.c_str()) == 1);
    SLUICE_CHECK(SSL_CTX_use_PrivateKey_file(raw, files.key.c_str(), SSL_FILETYPE_PEM) == 1);
  }
  std::string url() const { return "https://127.0.0.1:" + std::to_string(server_.port()); }

 private:
  void serve(const RawPeer& peer) const {
    const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context_.get()), SSL_free);
    SSL_set_fd(ssl.get(), peer.fd());
    char request[4096];
    const std::string_view answer = "HTTP/1.1 200 OK\r\n\r\nperhaps all";
    if (SSL_accept(ssl.get()) != 1 || SSL_read(ssl.get(), request, sizeof request) <= 0) return;
    SSL_write(ssl.get(), answer.data(), static_cast<int>(answer.size()));
    if (says_so_) SSL_shutdown(ssl.get());
  }

  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  const bool says_so_;
  RawServer server_{[this](RawPeer& peer, unsigned) { serve(peer); }};
};

TEST(HttpClientTls, a_body_that_was_cut_off_is_not_taken_for_whole) {
  const test::TempDir dir;
  const auto files = make_certificate(dir / "right", "IP:127.0.0.1");
  const auto client = open_client({.ca_file = files.certificate});
  const AbruptServer honest(files, true);
  const auto whole = client->call({.url = honest.url()});
  ASSERT_TRUE(whole) << whole.error().message();
  EXPECT_EQ(whole->body, "perhaps all");
  const AbruptServer cut(files, false);
  EXPECT_EQ(status_of(client->call({.url = cut.url()})).code(), Code::commit_unknown);
}

}  // namespace
}  // namespace sluice::net
