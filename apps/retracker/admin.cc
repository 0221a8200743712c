// SPDX-License-Identifier: MIT
#include "retracker/admin.h"

#include <algorithm>
#include <utility>

#include "codec/json.h"
#include "retracker/stats.h"

namespace sluice::cli {
namespace {

net::HttpResponse refusal(unsigned status, std::string_view code, std::string_view message) {
  codec::json::Writer writer(codec::json::Layout::pretty);
  writer.object().name("error").object();
  writer.name("code").string(code).name("message").string(message);
  return {.status = status, .body = writer.end_object().end_object().take() + "\n"};
}

net::HttpResponse not_found(const Status& why) {
  return refusal(404, "not_found", why.message());
}

/// A name belongs to one of the list at most.
net::HttpResponse shown(const tracker::Forwarder& forwarder, std::string_view name) {
  const tracker::ForwardInsight view = forwarder.insight();
  const auto one = std::ranges::find(view.upstreams, name, &tracker::UpstreamInsight::name);
  if (one == view.upstreams.end()) return refusal(404, "not_found", "it has just been removed");
  return {.body = forwarder_json(*one)};
}

}  // namespace

AdminAnswer answer_admin(const net::HttpRequest& request, const Login& login,
                         tracker::Forwarder& forwarder) {
  const net::RequestHead& head = request.head;
  if (const Status may = may_administer(request, login); !may.ok())
    return {.response = refusal(403, "permission_denied", may.message())};
  const std::string_view* authorization = head.find("authorization");
  if (!login.admits(authorization != nullptr ? *authorization : std::string_view()))
    return {.response = Login::challenge()};
  const auto ask = read_admin_ask(head.target.substr(0, head.target.find('?')));
  if (!ask) return {.response = not_found(ask.error())};
  if (head.method != "POST") {
    net::HttpResponse wrong = refusal(405, "invalid_argument", "this is asked for by POST");
    wrong.headers.emplace_back("Allow", "POST");
    return {.response = std::move(wrong)};
  }
  const bool enables = ask->verb == AdminAsk::Verb::enable;
  const Status done = enables ? forwarder.enable(ask->forwarder)
                              : forwarder.disable(ask->forwarder, "disabled by an administrator");
  if (!done.ok()) return {.response = not_found(done)};
  return {.response = shown(forwarder, ask->forwarder),
          .done = "forwarder " + ask->forwarder + " was " + (enables ? "enabled" : "disabled") +
                  " by an administrator"};
}

}  // namespace sluice::cli
