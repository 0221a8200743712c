// SPDX-License-Identifier: MIT
#include "retracker/forwarders.h"

#include <gtest/gtest.h>

#include "retracker/yaml_file.h"
#include "tests/support/temp_dir.h"

namespace sluice::cli {
namespace {

using Upstreams = std::vector<tracker::UpstreamConfig>;

Forwarders parse(const std::string& text) {
  auto found = parse_forwarders(text, "f");
  EXPECT_TRUE(found) << found.error().message();
  return found ? *found : Forwarders{};
}

std::string refusal(const std::string& text) {
  const auto found = parse_forwarders(text, "f");
  EXPECT_FALSE(found) << text;
  return found ? "" : found.error().message();
}

std::vector<std::string> names(const std::string& text) {
  std::vector<std::string> names;
  for (const auto& one : parse(text).forwarders) names.push_back(one.name);
  return names;
}

TEST(Forwarders, an_entry_is_a_uri_or_a_map) {
  const auto found = parse(
      "- udp://a.example:6969/announce\n"
      "- uri: https://b.example/announce\n"
      "  name: b\n"
      "  ip: 2001:db8::7\n"
      "  host: c.example:80\n"
      "  bind: 192.0.2.7\n"
      "  proxy: socks5://u:p@d.example:1080\n"
      "- {uri: 'HTTP://D.example/x?y=z', name: ~}\n");
  EXPECT_EQ(found.forwarders,
            (Upstreams{{.name = "a.example:6969", .uri = "udp://a.example:6969/announce"},
                       {.name = "b",
                        .uri = "https://b.example/announce",
                        .ip = "2001:db8::7",
                        .host = "c.example:80",
                        .proxy = "socks5://u:p@d.example:1080",
                        .bind = "192.0.2.7"},
                       {.name = "d.example:80", .uri = "http://D.example/x?y=z"}}));
  EXPECT_TRUE(found.warnings.empty());
}

TEST(Forwarders, a_file_may_be_empty) {
  for (const char* const text : {"", "# nothing\n", "[]\n", "---\n"})
    EXPECT_TRUE(parse(text).forwarders.empty()) << text;
}

TEST(Forwarders, a_name_is_host_and_port) {
  EXPECT_EQ(names("- http://a/x\n- https://a/x\n- http://[2001:DB8::1]:81/x\n- udp://1.2.3.4:5\n"),
            (std::vector<std::string>{"a:80", "a:443", "[2001:db8::1]:81", "1.2.3.4:5"}));
}

TEST(Forwarders, names_that_would_clash_have_the_scheme_then_a_number) {
  EXPECT_EQ(names("- http://a:1/x\n- udp://a:1/x\n- http://a:1/y\n- udp://a:1/y\n- udp://a:1/z\n"),
            (std::vector<std::string>{"a:1", "a:1/udp", "a:1/http", "a:1/udp/2", "a:1/udp/3"}));
}

TEST(Forwarders, a_name_that_is_written_comes_before_one_that_is_made) {
  EXPECT_EQ(names("- http://a:1/x\n- {uri: 'http://b:1/x', name: 'a:1'}\n"),
            (std::vector<std::string>{"a:1/http", "a:1"}));
}

TEST(Forwarders, a_name_may_be_written_once) {
  EXPECT_EQ(refusal("- {uri: 'http://a/x', name: n}\n- {uri: 'http://b/x', name: n}\n"),
            "f:2: name \"n\" is taken: see f:1");
}

TEST(Forwarders, an_entry_that_is_there_twice_is_left_out) {
  const auto found = parse(
      "- http://a/x\n- uri: http://a/x\n- {uri: 'http://a/x', ip: 1.2.3.4}\n"
      "- {uri: 'http://a/x', bind: 1.2.3.4}\n");
  EXPECT_EQ(found.forwarders.size(), 3U);
  EXPECT_EQ(found.warnings, std::vector<std::string>{"f:2: the same as f:1; left out"});
}

TEST(Forwarders, unknown_keys_are_warned_of) {
  const auto found = parse("- uri: http://a/x\n  nmae: b\n  colour: red\n");
  EXPECT_EQ(found.warnings,
            (std::vector<std::string>{"f:2: a tracker has no \"nmae\": did you mean \"name\"?",
                                      "f:3: a tracker has no \"colour\""}));
  EXPECT_EQ(found.forwarders.size(), 1U);
}

TEST(Forwarders, what_is_wrong_is_told_with_its_line) {
  const std::string fine = "- http://a/x\n";
  for (const char* const entry : {"- ftp://a/x\n",
                                  "- a.example:80\n",
                                  "- http:///x\n",
                                  "- http://a:0/x\n",
                                  "- http://a:65536/x\n",
                                  "- udp://a/x\n",
                                  "- udp://a:x/\n",
                                  "- 'http://a b/x'\n",
                                  "- http://user@a/x\n",
                                  "- unix:/x\n",
                                  "- name: x\n",
                                  "- uri:\n",
                                  "- {}\n",
                                  "- []\n",
                                  "- ~\n",
                                  "- uri: [a]\n",
                                  "- {uri: 'http://b/x', ip: b.example}\n",
                                  "- {uri: 'http://b/x', ip: 1.2.3}\n",
                                  "- {uri: 'http://b/x', bind: b.example}\n",
                                  "- {uri: 'udp://b:1/x', bind: '1.2.3.4:5'}\n",
                                  "- {uri: 'UDP://b:1/x', proxy: 'socks5://c:1'}\n",
                                  "- {uri: 'http://b/x', proxy: 'socks5://c'}\n",
                                  "- {uri: 'http://b/x', proxy: 'c:1080'}\n",
                                  "- {uri: 'http://b/x', ip: \"1.2.3.4\\0x\"}\n",
                                  "- {uri: 'http://b/x', name: \"a\\nb\"}\n",
                                  "- {uri: 'http://b/x', name: \"a\\x7f\"}\n",
                                  "- {uri: 'http://b/x', host: 'a b'}\n",
                                  "- {uri: 'http://b/x', host: \"a\\r\\nX: y\"}\n"}) {
    const std::string message = refusal(fine + entry);
    EXPECT_TRUE(message.starts_with("f:2: ")) << entry << message;
  }
}

TEST(Forwarders, what_is_no_list_is_refused) {
  for (const char* const text : {"uri: http://a/x\n", "http://a/x\n", "- [\n", "\t- x\n"})
    EXPECT_TRUE(refusal(text).starts_with("f:")) << text;
}

TEST(Forwarders, a_list_in_lists_without_end_is_refused) {
  for (const char* const open : {"[", "{a: ", "- ", "? "}) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += open;
    EXPECT_FALSE(parse_forwarders(text, "f")) << open;
  }
}

TEST(Forwarders, a_name_is_a_text_in_any_script) {
  EXPECT_EQ(names("- {uri: 'http://a/x', name: 'Zürich 1'}\n"),
            std::vector<std::string>{"Zürich 1"});
}

TEST(Forwarders, a_name_has_a_longest_length) {
  const auto with_name = [](std::size_t bytes) {
    return "- {uri: 'http://a/x', name: '" + std::string(bytes, 'n') + "'}\n";
  };
  EXPECT_EQ(names(with_name(kForwarderNameBytesMax)).size(), 1U);
  EXPECT_TRUE(refusal(with_name(kForwarderNameBytesMax + 1)).starts_with("f:1: name "));
}

TEST(Forwarders, a_list_has_a_greatest_length) {
  std::string text;
  for (std::size_t i = 0; i < kForwardersMax; ++i) text += "- http://a/" + std::to_string(i) + "\n";
  EXPECT_EQ(parse(text).forwarders.size(), kForwardersMax);
  EXPECT_NE(refusal(text + "- http://b/x\n").find("more than 10000"), std::string::npos);
}

TEST(Forwarders, a_file_is_read_up_to_its_limit) {
  const test::TempDir dir;
  const std::string path = dir / "f.yaml";
  const auto write = [&](std::size_t bytes) {
    std::string text = "- http://a/x\n#";
    text.resize(bytes, 'x');
    test::write_file(path, text);
  };
  write(kYamlBytesMax);
  EXPECT_EQ(read_forwarders(path)->forwarders.size(), 1U);
  write(kYamlBytesMax + 1);
  EXPECT_FALSE(read_forwarders(path));
  for (const std::string& other : {dir.path(), dir / "missing"}) {
    const auto found = read_forwarders(other);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().message(), other + ": it cannot be read");
  }
}

}  // namespace
}  // namespace sluice::cli
