// SPDX-License-Identifier: MIT
// What an administrator wants of a tracker that runs.
#pragma once

#include <sluice/result.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "net/http.h"
#include "retracker/login.h"

namespace sluice::cli {

inline constexpr std::string_view kAdminPath = "/admin/forwarders/";

struct AdminAsk {
  enum class Verb : std::uint8_t { enable, disable };
  Verb verb = Verb::enable;
  std::string forwarder = {};  ///< Its name.
};

/// `/admin/forwarders/NAME/enable` or `/disable`, without a query. NAME is percent-encoded; a slash
/// in it may stand for itself. `not_found` says what there is.
Result<AdminAsk> read_admin_ask(std::string_view path);

/// With a password whoever has it may ask. Without one, only who comes from this machine: not
/// through a proxy, as everybody may be behind it. Pages in a browser may never: a page of anybody
/// could ask in the name of who looks at it. `permission_denied` says what would help.
Status may_administer(const net::HttpRequest& request, const Login& login);

}  // namespace sluice::cli
