// SPDX-License-Identifier: MIT
// One call of a client on its way. Private to this room.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "net/client_connection.h"
#include "net/client_tunnel.h"
#include "net/http_client.h"
#include "net/http_url.h"

namespace sluice::net {

/// Made by any thread; from then on it lives on the loop's.
struct ClientCall {
  HttpUrl url = {};
  std::string origin = {};
  std::optional<Address> from = {};
  std::shared_ptr<const Tunnel> tunnel = {};  ///< Null: none. The last connection dies last.
  std::string way = {};                       ///< Calls of one way can use the same connection.
  std::shared_ptr<const Outgoing> request = {};
  bool repeatable = false;
  HttpClient::Done done = {};  ///< Empty once it was called.
  std::stop_token stop = {};
  MonoTime deadline = {};
  std::shared_ptr<TlsContext> tls = {};  ///< If the URL is https.

  std::uint64_t number = 0;  ///< In the order of the calls.
  /// The one that carries it; null as long as it waits for one. Whoever is told something about
  /// another one is late.
  std::shared_ptr<ClientConnection> connection = {};
  bool connecting = false;    ///< Nothing was sent yet.
  bool reused = false;        ///< That one has carried another call before.
  std::uint64_t look_up = 0;  ///< The number of the look-up that it waits for.
  MonoTime alarm = {};        ///< When it is looked at next.
  std::optional<std::stop_callback<std::function<void()>>> on_stop = {};
};

/// What is sent for a request; `invalid_argument` if it is wrong.
Result<std::shared_ptr<ClientCall>> make_call(ClientRequest request, HttpClient::Done done);

}  // namespace sluice::net
