// SPDX-License-Identifier: MIT
// TLS of a server and of a client. Private to this room: drags in Asio and OpenSSL.
#pragma once

#include <sluice/result.h>

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

#include "net/http_server.h"

namespace sluice::net {

using TlsContext = boost::asio::ssl::context;

/// TLS 1.2 and 1.3, no renegotiation, no compression. `invalid_argument` names the file that makes
/// no sense, or says that key and certificate do not belong together.
Result<std::shared_ptr<TlsContext>> load_tls(const TlsFiles& files);

/// For a client that trusts the certificates in `ca_file`, or those that the system trusts if it
/// has no name. `invalid_argument` if the file makes no sense.
Result<std::shared_ptr<TlsContext>> load_trust(const std::string& ca_file);

}  // namespace sluice::net
