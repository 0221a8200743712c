// SPDX-License-Identifier: MIT
#include "retracker/login.h"

#include <utility>

#include "codec/base64.h"
#include "net/http_head.h"

namespace sluice::cli {
namespace {

/// Takes as long wherever the first difference is. `right` is not empty.
bool is_same(std::string_view given, std::string_view right) {
  unsigned differs = given.size() == right.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i)
    differs |= static_cast<unsigned char>(given[i] ^ right[i % right.size()]);
  return differs == 0;
}

}  // namespace

Login::Login(std::string user, std::string password)
    : user_(std::move(user)), password_(std::move(password)) {}

bool Login::admits(std::string_view authorization) const {
  if (password_.empty()) return true;
  constexpr std::string_view kScheme = "Basic ";
  if (!net::equal_ignoring_case(authorization.substr(0, kScheme.size()), kScheme)) return false;
  authorization.remove_prefix(kScheme.size());
  while (authorization.starts_with(' ')) authorization.remove_prefix(1);
  const auto given = codec::from_base64(authorization);
  if (!given) return false;
  const std::size_t colon = given->find(':');
  if (colon == std::string::npos) return false;
  const std::string_view text = *given;
  const bool user = user_.empty() || is_same(text.substr(0, colon), user_);
  const bool password = is_same(text.substr(colon + 1), password_);
  return user && password;
}

net::HttpResponse Login::challenge() {
  return {.status = 401,
          .content_type = "text/plain; charset=utf-8",
          .body = "This takes a password.\n",
          .headers = {{"WWW-Authenticate", "Basic realm=\"retracker\", charset=\"UTF-8\""}}};
}

}  // namespace sluice::cli
