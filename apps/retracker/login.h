// SPDX-License-Identifier: MIT
// Who may see the figures: HTTP Basic authentication (RFC 7617).
#pragma once

#include <string>
#include <string_view>

#include "net/http.h"

namespace sluice::cli {

/// Immutable.
class Login {
 public:
  /// Without a password everybody is let in; without a user, whatever user has the password.
  Login(std::string user, std::string password);

  bool has_password() const { return !password_.empty(); }
  /// `authorization` is the header of that name; empty: there is none. How long it takes says
  /// nothing about the password but that there is one.
  bool admits(std::string_view authorization) const;
  /// 401, which makes browsers ask.
  static net::HttpResponse challenge();

 private:
  std::string user_;
  std::string password_;
};

}  // namespace sluice::cli
