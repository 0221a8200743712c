// SPDX-License-Identifier: MIT
// What a connection of a client runs over: a plain socket, or TLS. Private to this room.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <memory>
#include <string>
#include <tuple>

#include "net/loop.h"
#include "net/tls.h"

namespace sluice::net {

inline constexpr auto kTuple = asio::as_tuple(asio::use_awaitable_t<Executor>{});

class ClientStream {
 public:
  using Got = std::tuple<boost::system::error_code, std::size_t>;

  virtual ~ClientStream() = default;
  /// Once the socket is connected. Empty, or why not.
  virtual Task<std::string> shake_hands() = 0;
  virtual Task<Got> read_some(asio::mutable_buffer into) = 0;
  virtual Task<Got> write_some(asio::const_buffer from) = 0;
  virtual Socket& socket() = 0;
};

std::unique_ptr<ClientStream> make_plain_stream(Loop& loop);
/// Wants a certificate for `host`, a name or an address.
std::unique_ptr<ClientStream> make_tls_stream(Loop& loop, std::shared_ptr<TlsContext> tls,
                                              std::string host);

}  // namespace sluice::net
