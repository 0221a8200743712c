// SPDX-License-Identifier: MIT
// Which torrents a tracker serves: those on a list, those that are not, or all.
#pragma once

#include <sluice/result.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tracker/announce.h"

namespace sluice::tracker {

/// 40 hexadecimal digits in either case; `invalid_argument` for anything else.
Result<InfoHash> parse_hash(std::string_view digits);
/// 40 digits, in lower case.
std::string to_hex(const InfoHash& hash);

/// A set of hashes. Thread-safe, as it never changes: to change it, read it anew.
///
/// Cost: 20 bytes for a hash, and a binary search for a look.
class HashList {
 public:
  HashList() = default;

  /// One hash on a line. Blank lines do not count, nor does what follows a '#'; there may be white
  /// space around a hash. A hash may be there more than once. `invalid_argument` names `name` and
  /// the line.
  static Result<HashList> parse(std::string_view text, std::string_view name);
  /// Of a file; `not_found` or `io_error` if it cannot be read.
  static Result<HashList> read(const std::string& path);

  bool contains(const InfoHash& hash) const;
  /// Different ones.
  std::size_t size() const { return hashes_.size(); }

 private:
  std::vector<InfoHash> hashes_;  // In order.
};

/// The rule that a list stands for. Thread-safe, as it never changes.
class HashAccess {
 public:
  enum class Kind : std::uint8_t { everything, only_listed, not_listed };

  /// Serves everything.
  HashAccess() = default;
  /// Serves only what is on the list. Nothing, if that is empty.
  static HashAccess allow(HashList list) { return {Kind::only_listed, std::move(list)}; }
  /// Serves all but what is on the list.
  static HashAccess deny(HashList list) { return {Kind::not_listed, std::move(list)}; }

  bool serves(const InfoHash& hash) const {
    return kind_ == Kind::everything || list_.contains(hash) == (kind_ == Kind::only_listed);
  }
  Kind kind() const { return kind_; }
  const HashList& list() const { return list_; }

 private:
  HashAccess(Kind kind, HashList list) : kind_(kind), list_(std::move(list)) {}

  Kind kind_ = Kind::everything;
  HashList list_;
};

}  // namespace sluice::tracker
