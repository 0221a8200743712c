// SPDX-License-Identifier: MIT
#include "server/tokens.h"

#include <algorithm>
#include <array>

#include "codec/json.h"
#include "codec/record.h"
#include "codec/sha256.h"
#include "codec/tuple.h"
#include "queue/names.h"
#include "server/fields.h"

namespace sluice::server {
namespace {

using codec::RecordFormat;
using codec::RecordReader;
using codec::RecordWriter;
using codec::TupleReader;
using codec::TupleWriter;

constexpr RecordFormat kToken{.type = 36, .major = 1, .minor = 0, .field_max = 7};

// Told apart from other words at first sight, by people and by what looks for leaked secrets.
constexpr std::string_view kSecretBegin = "slu_";
constexpr int kSecretWords = 4;  // Of 64 bits.

struct Scope {
  May may;
  std::string_view name;
};
constexpr std::array<Scope, 3> kScopes{
    {{May::enqueue, "enqueue"}, {May::work, "work"}, {May::admin, "admin"}}};

TupleWriter key_of(std::string_view space) {
  TupleWriter key;
  key.string("sluiced").string(space);
  return key;
}
std::string token_key(std::string_view name) {
  return key_of("token").string(name).take();
}
kv::Range all_tokens() {
  codec::TupleRange range = codec::extensions_of(key_of("token").take());
  return {.begin = std::move(range.begin), .end = std::move(range.end)};
}
std::string version_key() {
  return key_of("token version").take();
}

std::string encode_token(const AccessToken& token) {
  TupleWriter prefixes;
  for (const std::string& prefix : token.prefixes) prefixes.string(prefix);
  return RecordWriter(kToken)
      .field(1, token.name)
      .field(2, token.hash)
      .field(3, token.may)
      .field(4, prefixes.take())
      .field(5, token.rate)
      .field(6, token.backlog_max)
      .field_signed(7, token.created.time_since_epoch().count())
      .finish();
}

Result<AccessToken> decode_token(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kToken));
  SLUICE_LET(name, record.bytes(1));
  SLUICE_LET(hash, record.bytes(2));
  SLUICE_LET(may, record.u64(3));
  SLUICE_LET(prefixes, record.bytes(4));
  SLUICE_LET(rate, record.u64(5));
  SLUICE_LET(backlog_max, record.u64(6));
  SLUICE_LET(created, record.i64(7));
  AccessToken token{.name = std::string(name),
                    .hash = std::string(hash),
                    .may = static_cast<MaySet>(may),
                    .prefixes = {},
                    .rate = rate,
                    .backlog_max = backlog_max,
                    .created = WallTime(Duration(created))};
  TupleReader reader(prefixes);
  for (;;) {
    SLUICE_LET(next, reader.peek());
    if (next == codec::TupleKind::end) return token;
    SLUICE_LET(prefix, reader.string());
    token.prefixes.push_back(std::move(prefix));
  }
}

/// Fit to be shown on one line, and to be sent in a path.
Status check_name(std::string_view name, std::string_view what, std::size_t bytes_max) {
  if (name.empty() || name.size() > bytes_max)
    return error(Code::invalid_argument,
                 std::string(what) + " has 1 to " + std::to_string(bytes_max) + " bytes");
  for (std::string_view rest = name; !rest.empty();) {
    const std::size_t size = codec::json::utf8_character_bytes(rest);
    if (size == 0 || static_cast<unsigned char>(rest.front()) < ' ')
      return error(Code::invalid_argument, std::string(what) + " must be UTF-8 on one line");
    rest.remove_prefix(size);
  }
  return {};
}

std::string make_secret(Random& random) {
  std::string bytes;
  for (int word = 0; word < kSecretWords; ++word) {
    std::uint64_t bits = random.next();
    for (int i = 0; i < 8; ++i, bits >>= 8) bytes += static_cast<char>(bits & 0xff);
  }
  return std::string(kSecretBegin) + queue::to_hex(bytes);
}

/// Whoever has read the tokens sees that they are others now.
void change_version(kv::Transaction& txn) {
  txn.put_stamped_value(version_key(), "", txn.take_ordinal());
}

}  // namespace

Result<MaySet> parse_may(std::string_view text) {
  MaySet set = 0;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const auto scope = std::ranges::find(kScopes, word, &Scope::name);
    if (scope == kScopes.end())
      return error(Code::invalid_argument,
                   "'" + std::string(word) + "' is none of enqueue, work, admin");
    set |= static_cast<MaySet>(scope->may);
    begin = end + 1;
  }
  return set;
}

std::string may_text(MaySet may) {
  std::string text;
  for (const Scope& scope : kScopes)
    if ((may & static_cast<MaySet>(scope.may)) != 0)
      text.append(text.empty() ? "" : ",").append(scope.name);
  return text;
}

Status check(const AccessToken& token) {
  SLUICE_TRY(check_name(token.name, "the name of a token", kNameBytesMax));
  if (token.may == 0)
    return error(Code::invalid_argument, "a token must be good for something: enqueue,work,admin");
  if (token.prefixes.size() > kTokenPrefixesMax)
    return error(Code::invalid_argument, "a token is bound to 64 prefixes at most");
  for (const std::string& prefix : token.prefixes)
    SLUICE_TRY(check_name(prefix, "a prefix of queues", kNameBytesMax));
  return {};
}

std::string hash_of_secret(std::string_view secret) {
  const auto digest = codec::sha256(secret);
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

Result<std::string> add_token(kv::Store& store, AccessToken token, Random& random) {
  SLUICE_TRY(check(token));
  std::string secret = make_secret(random);
  token.hash = hash_of_secret(secret);
  token.created = store.now();
  const std::string key = token_key(token.name);
  const std::string value = encode_token(token);
  SLUICE_TRY(store.run([&](kv::Transaction& txn) -> Status {
    SLUICE_LET(known, txn.get(key));
    if (known)
      return error(Code::already_exists, "there is a token '" + token.name +
                                             "': revoke it first, or choose another name");
    SLUICE_LET(all, txn.scan(all_tokens(), {.limit = kTokensMax}));
    if (all.size() == kTokensMax)
      return error(Code::limit_exceeded, "there are 10000 tokens: revoke some");
    txn.put(key, value);
    change_version(txn);
    return {};
  }));
  return secret;
}

Status revoke_token(kv::Store& store, const std::string& name) {
  const auto missing = [&] {
    return error(Code::not_found, "there is no token '" + name + "': see sluiced token list");
  };
  if (name.size() > kNameBytesMax) return missing();
  const std::string key = token_key(name);
  return status_of(store.run(
      [&](kv::Transaction& txn) -> Status {
        SLUICE_LET(known, txn.get(key));
        if (!known) return missing();
        txn.erase(key);
        change_version(txn);
        return {};
      },
      {.write_class = kv::WriteClass::drain}));
}

Status forget_tokens(kv::Store& store) {
  return status_of(store.run(
      [&](kv::Transaction& txn) -> Status {
        SLUICE_LET(all, txn.scan(all_tokens()));
        for (const kv::KeyValue& one : all) txn.erase(one.key);
        txn.erase(version_key());
        return {};
      },
      {.write_class = kv::WriteClass::drain}));
}

Result<std::string> read_tokens_version(kv::Store& store) {
  std::string version;
  SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(found, reader.get(version_key()));
    version = found.value_or("");
    return {};
  }));
  return version;
}

Result<AccessTokens> read_tokens(kv::Store& store) {
  AccessTokens all;
  SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
    all = {};
    SLUICE_LET(version, reader.get(version_key()));
    all.version = version.value_or("");
    SLUICE_LET(entries, reader.scan(all_tokens()));
    for (const kv::KeyValue& entry : entries) {
      SLUICE_LET(token, decode_token(entry.value));
      all.tokens.push_back(std::move(token));
    }
    return {};
  }));
  return all;
}

}  // namespace sluice::server
