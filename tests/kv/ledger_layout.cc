// SPDX-License-Identifier: MIT
#include "tests/kv/ledger_layout.h"

#include <charconv>
#include <cstdio>

#include "codec/record.h"

namespace sluice::test {
namespace {

using codec::RecordFormat;
using codec::RecordReader;
using codec::RecordWriter;

constexpr RecordFormat kAccountFormat{.type = 'a', .major = 1, .minor = 0, .field_max = 2};
constexpr RecordFormat kHeadFormat{.type = 'h', .major = 1, .minor = 0, .field_max = 2};
constexpr RecordFormat kLogFormat{.type = 'l', .major = 1, .minor = 0, .field_max = 8};
constexpr RecordFormat kNumberFormat{.type = 'n', .major = 1, .minor = 0, .field_max = 1};

template <class... Numbers>
std::string printed(const char* format, Numbers... numbers) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, numbers...);
  return text.data();
}

std::string filler(std::uint64_t seed, std::uint64_t bytes) {
  std::string text(bytes, '\0');
  std::uint64_t state = seed | 1;
  for (char& c : text) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    c = static_cast<char>(state >> 56);
  }
  return text;
}

}  // namespace

std::string account_key(unsigned account) {
  return printed("a/%02x", account);
}
std::string head_key(unsigned lane) {
  return printed("h/%02x", lane);
}
std::string log_prefix(unsigned lane) {
  return printed("l/%02x/", lane);
}
std::string log_key(unsigned lane, std::uint64_t number) {
  return printed("l/%02x/%016llx", lane, static_cast<unsigned long long>(number));
}
std::string stamped_prefix(unsigned lane) {
  return printed("s/%02x/", lane);
}
std::string last_key(unsigned lane) {
  return printed("v/%02x", lane);
}

unsigned lane_of(std::string_view key) {
  unsigned lane = ~0u;
  if (key.size() >= 4) std::from_chars(key.data() + 2, key.data() + 4, lane, 16);
  return lane;
}

std::string Account::encode() const {
  return RecordWriter(kAccountFormat).field(1, balance).field(2, version).finish();
}

Result<Account> Account::decode(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kAccountFormat));
  SLUICE_LET(balance, record.u64(1));
  SLUICE_LET(version, record.u64(2));
  return Account{.balance = balance, .version = version};
}

std::string Head::encode() const {
  return RecordWriter(kHeadFormat).field(1, last).field(2, trimmed).finish();
}

Result<Head> Head::decode(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kHeadFormat));
  SLUICE_LET(last, record.u64(1));
  SLUICE_LET(trimmed, record.u64(2));
  return Head{.last = last, .trimmed = trimmed};
}

std::string LogEntry::encode() const {
  return RecordWriter(kLogFormat, 128 + filler_bytes)
      .field(1, std::uint64_t{lane})
      .field(2, number)
      .field(3, std::uint64_t{touches[0].account})
      .field(4, touches[0].version)
      .field(5, std::uint64_t{touches[1].account})
      .field(6, touches[1].version)
      .field(7, filler_seed)
      .field(8, filler(filler_seed, filler_bytes))
      .finish();
}

Result<LogEntry> LogEntry::decode(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kLogFormat));
  std::array<std::uint64_t, 8> fields{};
  for (unsigned i = 1; i <= 7; ++i) {
    SLUICE_LET(value, record.u64(i));
    fields[i] = value;
  }
  SLUICE_LET(text, record.bytes(8));
  if (text != filler(fields[7], text.size())) return error(Code::corrupt, "filler differs");
  return LogEntry{.lane = static_cast<unsigned>(fields[1]),
                  .number = fields[2],
                  .touches = {Touch{static_cast<unsigned>(fields[3]), fields[4]},
                              Touch{static_cast<unsigned>(fields[5]), fields[6]}},
                  .filler_seed = fields[7],
                  .filler_bytes = text.size()};
}

std::string encode_number(std::uint64_t number) {
  return RecordWriter(kNumberFormat).field(1, number).finish();
}

Result<std::uint64_t> decode_number(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kNumberFormat));
  return record.u64(1);
}

}  // namespace sluice::test
