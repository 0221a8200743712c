// SPDX-License-Identifier: MIT
#include "net/testing.h"

#include <arpa/inet.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdio>

#include "base/check.h"
#include "tests/support/waiting.h"

namespace sluice::net {
namespace {

template <class T, void (*release)(T*)>
struct Release {
  void operator()(T* one) const { release(one); }
};
template <class T, void (*release)(T*)>
using Owned = std::unique_ptr<T, Release<T, release>>;

void add_extension(X509* certificate, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const Owned<X509_EXTENSION, X509_EXTENSION_free> extension(
      X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  SLUICE_CHECK(extension && X509_add_ext(certificate, extension.get(), -1) == 1);
}

template <class Write>
void write_pem(const std::string& path, Write write) {
  std::FILE* const file = std::fopen(path.c_str(), "we");
  SLUICE_CHECK(file != nullptr && write(file) == 1 && std::fclose(file) == 0);
}

}  // namespace

bool RawPeer::more() {
  pollfd wanted{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  const auto patience_ms = static_cast<int>(test::patience() / std::chrono::milliseconds(1));
  SLUICE_CHECK(::poll(&wanted, 1, patience_ms) == 1);
  char bytes[65536];
  const ssize_t count = ::recv(socket_.get(), bytes, sizeof bytes, 0);
  if (count <= 0) return false;
  text_.append(bytes, static_cast<std::size_t>(count));
  return true;
}

std::string RawPeer::request() {
  for (;;) {
    if (const std::size_t head = head_bytes(text_); head != 0) {
      const std::size_t size = head + parse_request_head(text_.substr(0, head))->body_bytes;
      if (text_.size() >= size) {
        std::string whole = text_.substr(0, size);
        text_.erase(0, size);
        return whole;
      }
    }
    if (!more()) return "";
  }
}

std::string RawPeer::some() {
  if (text_.empty()) more();
  return std::exchange(text_, "");
}

void RawPeer::wait_for_end() {
  while (more()) {
  }
}

bool RawPeer::send(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t count = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

void RawPeer::reset() const {
  const sockaddr nobody{.sa_family = AF_UNSPEC, .sa_data = {}};
  SLUICE_CHECK(::connect(socket_.get(), &nobody, sizeof nobody) == 0);
}

RawServer::RawServer(Serve serve)
    : serve_(std::move(serve)), listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof where;
  auto* const address = reinterpret_cast<sockaddr*>(&where);
  SLUICE_CHECK(::bind(listening_.get(), address, bytes) == 0);
  SLUICE_CHECK(::listen(listening_.get(), 64) == 0);
  SLUICE_CHECK(::getsockname(listening_.get(), address, &bytes) == 0);
  port_ = ntohs(where.sin_port);
  accepting_ = std::jthread([this] { accept(); });
}

RawServer::~RawServer() {
  {
    const MutexLock lock(mutex_);
    over_ = true;
    for (const auto& peer : peers_) ::shutdown(peer->fd(), SHUT_RDWR);
  }
  ::shutdown(listening_.get(), SHUT_RDWR);
  accepting_.join();
}

void RawServer::accept() {
  for (;;) {
    const int fd = ::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const MutexLock lock(mutex_);
    peers_.push_back(std::make_unique<RawPeer>(fd));
    if (over_) return;
    threads_.emplace_back([this, peer = peers_.back().get(), number = accepted_++] {
      serve_(*peer, number);
      ::shutdown(peer->fd(), SHUT_RDWR);
    });
  }
}

unsigned RawServer::accepted() {
  const MutexLock lock(mutex_);
  return accepted_;
}

std::string RawServer::url(std::string_view target) const {
  return "http://127.0.0.1:" + std::to_string(port_) + std::string(target);
}

void echo(Exchange exchange) {
  const HttpRequest& request = exchange.request();
  const std::string_view* const mark = request.head.find("X-Mark");
  std::string text = std::string(request.head.method) + " " + std::string(request.head.target) +
                     " " + (mark != nullptr ? std::string(*mark) : "-") + " " + request.body;
  exchange.reply({.content_type = "text/plain", .body = std::move(text)});
}

std::unique_ptr<HttpServer> open_server(HttpHandler handler, HttpServerOptions options) {
  if (options.listen.empty()) options.listen = "127.0.0.1:0";
  options.loops = 1;
  return HttpServer::open(std::move(options), std::move(handler)).value();
}

std::string url_of(const HttpServer& server, std::string_view target) {
  return "http://" + server.address() + std::string(target);
}

ClientRequest post(std::string url, std::string body) {
  return {.method = "POST", .url = std::move(url), .body = std::move(body)};
}

LookUp everything_is_here() {
  return [](const std::string&, std::uint16_t port) -> Result<std::vector<Address>> {
    return std::vector<Address>{*numeric_address("127.0.0.1", port)};
  };
}

std::unique_ptr<HttpClient> open_client(HttpClientOptions options) {
  const HttpClientOptions usual;
  const Duration patience = test::patience();
  if (options.call_time == usual.call_time) options.call_time = patience;
  if (options.connect_time == usual.connect_time) options.connect_time = patience;
  if (options.idle_time == usual.idle_time) options.idle_time = 10 * patience;
  return HttpClient::open(std::move(options)).value();
}

TlsFiles make_certificate(const std::string& path, const std::string& names) {
  const Owned<EVP_PKEY, EVP_PKEY_free> key(EVP_EC_gen("P-256"));
  const Owned<X509, X509_free> certificate(X509_new());
  X509* const raw = certificate.get();
  X509_set_version(raw, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(raw), 1);
  X509_gmtime_adj(X509_getm_notBefore(raw), -3600);
  X509_gmtime_adj(X509_getm_notAfter(raw), 24 * 3600);
  X509_set_pubkey(raw, key.get());
  X509_NAME* const subject = X509_get_subject_name(raw);
  const std::string name = path.substr(path.rfind('/') + 1);
  const auto* const text = reinterpret_cast<const unsigned char*>(name.c_str());
  SLUICE_CHECK(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, text, -1, -1, 0) == 1);
  X509_set_issuer_name(raw, subject);
  add_extension(raw, NID_subject_alt_name, names);
  SLUICE_CHECK(X509_sign(raw, key.get(), EVP_sha256()) != 0);
  write_pem(path + ".crt", [&](std::FILE* file) { return PEM_write_X509(file, raw); });
  write_pem(path + ".key", [&](std::FILE* file) {
    return PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  return {.certificate = path + ".crt", .key = path + ".key"};
}

}  // namespace sluice::net
