// SPDX-License-Identifier: MIT
// The way that a request takes: which address it is sent from.
#include <gtest/gtest.h>

#include <string>

#include "net/http_client.h"
#include "net/testing.h"

namespace sluice::net {
namespace {

void tell_peer(Exchange exchange) {
  exchange.reply({.content_type = "text/plain", .body = exchange.request().peer});
}

TEST(HttpClientWay, a_request_is_sent_from_the_address_that_it_names) {
  const auto server = open_server(tell_peer);
  const auto client = open_client();
  EXPECT_EQ(client->call({.url = url_of(*server)})->body, "127.0.0.1");
  EXPECT_EQ(client->call({.url = url_of(*server), .from = "127.0.0.7"})->body, "127.0.0.7");
  EXPECT_EQ(client->call({.url = url_of(*server), .from = "127.0.0.8"})->body, "127.0.0.8");
  EXPECT_EQ(client->call({.url = url_of(*server)})->body, "127.0.0.1");
  EXPECT_EQ(client->call({.url = url_of(*server), .from = "127.0.0.7"})->body, "127.0.0.7");
  EXPECT_EQ(server->stats().accepted, 3u) << "each way has a connection of its own, and keeps it";
}

TEST(HttpClientWay, addresses_of_the_other_family_are_not_tried) {
  const auto server = open_server(tell_peer);
  const auto client = open_client();
  const auto answer = client->call({.url = url_of(*server), .from = "::1"});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::unavailable);
  EXPECT_NE(answer.error().message().find("no address of the family of ::1"), std::string::npos)
      << answer.error().message();
}

TEST(HttpClientWay, an_address_that_is_not_this_machines_is_told) {
  const auto server = open_server(tell_peer);
  const auto answer = open_client()->call({.url = url_of(*server), .from = "192.0.2.1"});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::unavailable);
  EXPECT_NE(answer.error().message().find("cannot send from 192.0.2.1"), std::string::npos)
      << answer.error().message();
  for (const char* const wrong : {"localhost", "127.0.0", "127.0.0.1:80", "[::1]"}) {
    const auto refused = open_client()->call({.url = url_of(*server), .from = wrong});
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().code(), Code::invalid_argument);
  }
}

}  // namespace
}  // namespace sluice::net
