// SPDX-License-Identifier: MIT
#include "retracker/admin_ask.h"

#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

using Verb = AdminAsk::Verb;

TEST(AdminAsk, names_a_forwarder_and_what_becomes_of_it) {
  struct Row {
    const char* path;
    Verb verb;
    const char* name;
  };
  for (const Row& row : {Row{"/admin/forwarders/a/enable", Verb::enable, "a"},
                         Row{"/admin/forwarders/a/disable", Verb::disable, "a"},
                         Row{"/admin/forwarders/h:80%2Fudp/disable", Verb::disable, "h:80/udp"},
                         Row{"/admin/forwarders/h:80/udp/enable", Verb::enable, "h:80/udp"},
                         Row{"/admin/forwarders/a+b%20c%C3%A9/enable", Verb::enable, "a+b cé"},
                         Row{"/admin/forwarders/enable/disable", Verb::disable, "enable"}}) {
    const auto ask = read_admin_ask(row.path);
    ASSERT_TRUE(ask) << row.path;
    EXPECT_EQ(ask->verb, row.verb) << row.path;
    EXPECT_EQ(ask->forwarder, row.name);
  }
}

TEST(AdminAsk, all_else_is_not_there) {
  for (const char* path :
       {"/admin/", "/admin/forwarders", "/admin/forwarders/", "/admin/forwarders/a",
        "/admin/forwarders/enable", "/admin/forwarders//enable", "/admin/forwarders/a/",
        "/admin/forwarders/a/Enable", "/admin/forwarders/a/enable/", "/admin/forwarders/a/remove",
        "/admin/forwarders/%/enable", "/admin/forwarders/%zz/enable", "/admin/queue/a/enable"}) {
    const auto ask = read_admin_ask(path);
    ASSERT_FALSE(ask) << path;
    EXPECT_EQ(ask.error().code(), Code::not_found);
    EXPECT_NE(ask.error().message().find("/admin/forwarders/NAME/enable"), std::string::npos);
  }
}

Code asked_by(const char* peer, const char* header = nullptr, const char* password = "") {
  net::HttpRequest request{.peer = peer};
  if (header != nullptr) request.head.headers.push_back({header, "127.0.0.1"});
  return may_administer(request, Login("", password)).code();
}

TEST(AdminAsk, without_a_password_only_this_machine_may) {
  for (const char* near : {"127.0.0.1", "127.255.255.255", "::1", "::ffff:127.0.0.1"})
    EXPECT_EQ(asked_by(near), Code::ok) << near;
  for (const char* far : {"126.255.255.255", "128.0.0.0", "::2", "::", "10.0.0.1", "192.168.0.1",
                          "fe80::1", "::ffff:10.0.0.1", "unix", ""}) {
    EXPECT_EQ(asked_by(far), Code::permission_denied) << far;
    EXPECT_EQ(asked_by(far, nullptr, "secret"), Code::ok) << "it has to have the password";
  }
}

TEST(AdminAsk, whoever_comes_through_a_proxy_is_not_from_this_machine) {
  for (const char* header : {"x-real-ip", "x-forwarded-for", "forwarded", "via"}) {
    EXPECT_EQ(asked_by("127.0.0.1", header), Code::permission_denied) << header;
    EXPECT_EQ(asked_by("127.0.0.1", header, "secret"), Code::ok) << header;
  }
  EXPECT_EQ(asked_by("127.0.0.1", "x-other"), Code::ok);
}

TEST(AdminAsk, pages_in_a_browser_may_never) {
  EXPECT_EQ(asked_by("127.0.0.1", "origin"), Code::permission_denied);
  EXPECT_EQ(asked_by("127.0.0.1", "origin", "secret"), Code::permission_denied);
}

}  // namespace
}  // namespace sluice::cli
