// SPDX-License-Identifier: MIT
// The tokens that let somebody in, as they are stored: `sluiced token` changes them, also while the
// service runs.
#pragma once

#include <sluice/clock.h>
#include <sluice/kv.h>
#include <sluice/random.h>
#include <sluice/result.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::server {

/// What a token is good for; a set of these. Reading needs any one of them.
enum class May : std::uint8_t {
  read = 0,
  enqueue = 1,  ///< Put jobs in, change them, take them out.
  work = 2,     ///< Claim jobs, and say what became of them.
  admin = 4,    ///< Everything.
};
using MaySet = std::uint8_t;
constexpr bool includes(MaySet set, May may) {
  const auto wanted = static_cast<MaySet>(may);
  return (set & static_cast<MaySet>(May::admin)) != 0 || (set & wanted) == wanted;
}
/// "enqueue,work"; `invalid_argument` for another word, or none.
Result<MaySet> parse_may(std::string_view text);
std::string may_text(MaySet may);

inline constexpr std::size_t kTokensMax = 10'000;
inline constexpr std::size_t kTokenPrefixesMax = 64;

struct AccessToken {
  std::string name = {};
  std::string hash = {};  ///< SHA-256 of the secret. The secret itself is nowhere.
  MaySet may = 0;
  /// What the names of its queues begin with; none: it is good for all queues.
  std::vector<std::string> prefixes = {};
  std::uint64_t rate = 0;         ///< Requests per second; 0: any.
  std::uint64_t backlog_max = 0;  ///< Jobs that wait in its queues; 0: any.
  WallTime created = {};

  friend bool operator==(const AccessToken&, const AccessToken&) = default;
};

/// What is kept of a secret.
std::string hash_of_secret(std::string_view secret);

/// `invalid_argument` for a bad name, no scope, or too many or too long prefixes.
Status check(const AccessToken& token);

/// Stores the token under its name and returns its secret, which is told this once. From the first
/// one on, every request needs one, also when all of them were revoked. `already_exists` if there
/// is one of the name, `limit_exceeded` beyond kTokensMax, or as check() has it.
Result<std::string> add_token(kv::Store& store, AccessToken token, Random& random);
/// `not_found` if there is none of the name.
Status revoke_token(kv::Store& store, const std::string& name);
/// Forgets all of them: requests need none any more.
Status forget_tokens(kv::Store& store);

struct AccessTokens {
  std::string version = {};  ///< Another one after every change; empty: there never was a token.
  std::vector<AccessToken> tokens = {};
};
Result<AccessTokens> read_tokens(kv::Store& store);
/// Only the version.
Result<std::string> read_tokens_version(kv::Store& store);

}  // namespace sluice::server
