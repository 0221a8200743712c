// SPDX-License-Identifier: MIT
// Forwarders are disabled and enabled by hand.
#pragma once

#include <string>

#include "net/http.h"
#include "retracker/admin_ask.h"
#include "retracker/login.h"
#include "tracker/forwarder.h"

namespace sluice::cli {

struct AdminAnswer {
  net::HttpResponse response = {};
  std::string done = {};  ///< For the log; empty: nothing was.
};

/// Does what a request for a path that begins with kAdminPath wants, if it may. The answer is JSON:
/// the forwarder as /stats has it, or {"error": {"code", "message"}}.
AdminAnswer answer_admin(const net::HttpRequest& request, const Login& login,
                         tracker::Forwarder& forwarder);

}  // namespace sluice::cli
