// SPDX-License-Identifier: MIT
#include "retracker/admin_ask.h"

#include "codec/percent.h"
#include "tracker/address_list.h"
#include "tracker/endpoint_text.h"

namespace sluice::cli {
namespace {

bool is_loopback(std::string_view address) {
  static const auto loopback = tracker::AddressList::parse({"127.0.0.0/8", "::1"});
  const auto endpoint = tracker::endpoint_of(address, 0);
  return endpoint && loopback->contains(*endpoint);
}

bool is_handed_on(const net::RequestHead& head) {
  for (const char* name : {"x-real-ip", "x-forwarded-for", "forwarded", "via"})
    if (head.find(name) != nullptr) return true;
  return false;
}

Failure nothing() {
  return error(Code::not_found,
               "there are /admin/forwarders/NAME/enable and /admin/forwarders/NAME/disable");
}

}  // namespace

Result<AdminAsk> read_admin_ask(std::string_view path) {
  if (!path.starts_with(kAdminPath)) return nothing();
  path.remove_prefix(kAdminPath.size());
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return nothing();
  AdminAsk ask;
  const std::string_view verb = path.substr(slash + 1);
  if (verb == "disable")
    ask.verb = AdminAsk::Verb::disable;
  else if (verb != "enable")
    return nothing();
  const auto name = codec::percent_decode(path.substr(0, slash));
  if (!name || name->empty()) return nothing();
  ask.forwarder = *name;
  return ask;
}

Status may_administer(const net::HttpRequest& request, const Login& login) {
  if (request.head.find("origin") != nullptr)
    return error(Code::permission_denied, "pages in a browser may not ask for this");
  if (login.has_password()) return {};
  if (!is_loopback(request.peer) || is_handed_on(request.head))
    return error(Code::permission_denied,
                 "without stats_password only this machine may ask for this, and not by a proxy");
  return {};
}

}  // namespace sluice::cli
