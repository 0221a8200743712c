// SPDX-License-Identifier: MIT
#include "tracker/bencode.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::tracker::bencode {
namespace {

TEST(Bencode, integers_are_read) {
  EXPECT_EQ(read("i0e")->integer(), 0);
  EXPECT_EQ(read("i-1e")->integer(), -1);
  EXPECT_EQ(read("i9223372036854775807e")->integer(), INT64_MAX);
  EXPECT_EQ(read("i-9223372036854775808e")->integer(), INT64_MIN);
  EXPECT_EQ(read("i1e")->string(), std::nullopt);
}

TEST(Bencode, strings_are_read) {
  EXPECT_EQ(read("0:")->string(), "");
  EXPECT_EQ(read("3:a:b")->string(), "a:b");
  EXPECT_EQ(read("10:0123456789")->string(), "0123456789");
  EXPECT_EQ(read("1:i")->kind(), Kind::string);
  EXPECT_EQ(read("1:i")->integer(), std::nullopt);
}

TEST(Bencode, a_list_is_gone_through) {
  const auto list = read("li7e2:eel1:xed1:ki1eee");
  ASSERT_TRUE(list);
  Entries entries = list->entries();
  EXPECT_EQ(entries.next()->value.integer(), 7);
  EXPECT_EQ(entries.next()->value.string(), "ee");
  EXPECT_EQ(entries.next()->value.text(), "l1:xe");
  const auto last = entries.next();
  EXPECT_EQ(last->key, "");
  EXPECT_EQ(last->value.find("k")->integer(), 1);
  EXPECT_FALSE(entries.next());
  EXPECT_FALSE(entries.next());
  EXPECT_FALSE(read("le")->entries().next());
}

TEST(Bencode, keys_are_found_in_any_order) {
  const auto dict = read("d1:bi1e1:ad1:bi2ee0:i3ee");
  ASSERT_TRUE(dict);
  EXPECT_EQ(dict->find("b")->integer(), 1);
  EXPECT_EQ(dict->find("a")->find("b")->integer(), 2);
  EXPECT_EQ(dict->find("")->integer(), 3);
  EXPECT_FALSE(dict->find("c"));
  EXPECT_EQ(dict->entries().next()->key, "b");
}

TEST(Bencode, only_a_dictionary_has_keys) {
  for (const char* text : {"i1e", "1:a", "l1:ae"}) EXPECT_FALSE(read(text)->find("a")) << text;
  for (const char* text : {"i1e", "1:a"}) EXPECT_FALSE(read(text)->entries().next()) << text;
}

TEST(Bencode, what_is_malformed_is_refused) {
  const char* const bad[] = {
      "",
      "e",
      "x",
      "i",
      "ie",
      "i-e",
      "i1",
      "i 1e",
      "i+1e",
      "i1.0e",
      "i0x1e",
      "i--1e",
      "i00e",
      "i01e",
      "i-0e",
      "i-01e",
      "-1:a",
      "i9223372036854775808e",
      "1",
      "1:",
      "1a",
      "00:",
      "01:a",
      "i-9223372036854775809e",
      "2:a",
      ":a",
      " 1:a",
      "1 :a",
      "l",
      "18446744073709551617:a",
      "l1:a",
      "li1e",
      "lee",
      "d",
      "d1:a",
      "99999999999999999999:a",
      "d1:ae",
      "di1ei1ee",
      "dlei1ee",
      "d1:ai1e",
      "dee",
      "1aa",
      "1;a",
      "d:i1ee",
      "d1:ai1e1:be",
      "i1ei1e",
      "1:aa",
      "de\n",
      "d1:ai1e1:ai1ee",
      "d1:bi1e1:ai1e1:bi1ee",
      "ld1:ai1e1:ai1eee",
      "d1:bi1e1:ad0:i1e0:i1eee",
  };
  for (const char* text : bad) {
    const auto value = read(text);
    ASSERT_FALSE(value) << text;
    EXPECT_EQ(value.error().code(), Code::invalid_argument) << text;
    EXPECT_TRUE(value.error().message().starts_with("byte ")) << text;
  }
  EXPECT_EQ(read("l2:a").error().message(), "byte 1: a length goes past the end");
  EXPECT_EQ(read("li1ei02ee").error().message(), "byte 5: a leading zero");
}

TEST(Bencode, every_cut_of_a_text_is_refused) {
  const std::string text = "d8:completei1e5:peersld2:ip9:127.0.0.14:porti80eee0:le1:ai-5ee";
  EXPECT_TRUE(read(text));
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(read(std::string(text, 0, size))) << size;
}

TEST(Bencode, depth_has_a_limit) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, 'l') + "i1e" + std::string(depth, 'e');
  };
  EXPECT_TRUE(read(nested(kDepthMax)));
  EXPECT_FALSE(read(nested(kDepthMax + 1)));
  EXPECT_FALSE(read(std::string(1 << 20, 'l')));
  std::string dicts;
  for (std::size_t i = 0; i < kDepthMax; ++i) dicts += "d0:";
  EXPECT_TRUE(read(dicts + "i1e" + std::string(kDepthMax, 'e')));
  EXPECT_FALSE(read("d0:" + dicts + "i1e" + std::string(kDepthMax + 1, 'e')));
}

TEST(Bencode, what_is_written_is_read_back) {
  std::string out = "before ";
  Writer writer(out);
  writer.dict().key("").integer(INT64_MIN).key("a").list().string("x").integer(0).list().end();
  writer.dict().key("z").string("").end().end().key("b").string(std::string("\0\xff", 2)).end();
  EXPECT_EQ(out, "before d0:i-9223372036854775808e1:al1:xi0eled1:z0:ee1:b2:" +
                     std::string("\0\xff", 2) + "e");
  const std::string text = out.substr(7);
  ASSERT_TRUE(read(text));
  EXPECT_EQ(read(text)->find("")->integer(), INT64_MIN);
}

TEST(BencodeWriterDeath, misuse_of_the_writer_stops_the_process) {
  std::string out;
  EXPECT_DEATH(Writer(out).dict().key("b").integer(1).key("a"), "check failed");
  EXPECT_DEATH(Writer(out).dict().key("b").integer(1).key("b"), "check failed");
  EXPECT_DEATH(Writer(out).dict().key("").integer(1).key(""), "check failed");
  EXPECT_DEATH(Writer(out).dict().key("a").key("b"), "check failed");
  EXPECT_DEATH(Writer(out).dict().integer(1), "check failed");
  EXPECT_DEATH(Writer(out).dict().key("a").end(), "check failed");
  EXPECT_DEATH(Writer(out).list().key("a"), "check failed");
  EXPECT_DEATH(Writer(out).key("a"), "check failed");
  EXPECT_DEATH(Writer(out).end(), "check failed");
  Writer deep(out);
  for (std::size_t i = 0; i < kDepthMax; ++i) deep.list();
  EXPECT_DEATH(deep.list(), "check failed");
}

}  // namespace
}  // namespace sluice::tracker::bencode
