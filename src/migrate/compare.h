// SPDX-License-Identifier: MIT
// What is different between two entries of one name, and what is to be done about it. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "migrate/entry.h"

namespace sluice::migrate {

/// What may be different between two entries of the same name and kind; bits.
enum Difference : std::uint16_t {
  kNoDifference = 0,
  kDiffSize = 1,
  kDiffTime = 2,
  kDiffMode = 4,
  kDiffOwner = 8,
  kDiffGroup = 16,
  kDiffContent = 32,  ///< The hashes.
  kDiffTarget = 64,   ///< Of a link.
  kDiffDevice = 128,  ///< Its numbers.
};

/// What to do with a file that is newer on the destination, and different.
enum class NewerPolicy : std::uint8_t { overwrite, keep };

struct CompareRules {
  bool size_only = false;  ///< A file of the same size has the same content, whatever its time.
  bool checksum = false;   ///< Contents count, times alone do not make a file different.
  bool owners = true;      ///< Owner and group count.
  bool modes = true;
  bool times = true;           ///< Times of everything but files are compared and set.
  std::int64_t window_ns = 0;  ///< Times this far apart are the same.
  NewerPolicy newer = NewerPolicy::overwrite;
};

/// How the two entries of one name stand to each other.
enum class Verdict : std::uint8_t {
  same,        ///< Nothing to do.
  attributes,  ///< The content is the same; time, mode or owner are not.
  content,     ///< Different content (or size, target, numbers): to be copied.
  missing,     ///< Only on the source.
  extra,       ///< Only on the destination.
  clash,       ///< Of different kinds.
  newer,       ///< `content`, but the destination is newer and is to be kept.
  unknown,     ///< One of them could not be read.
  excluded,
};

struct Comparison {
  Verdict verdict = Verdict::same;
  std::uint16_t differences = kNoDifference;

  friend bool operator==(const Comparison&, const Comparison&) = default;
};

/// Either may be absent (null), but not both. Names are not looked at.
///
/// A file is `content` if its size differs, or, by the rules, its time (the usual), its hash
/// (checksum), or nothing more (size_only); with `checksum`, equal sizes and a hash missing on
/// either side it is `unknown`. Without `checksum`, equal time and equal size is never copied. With
/// equal content, differences in time, mode and owner make it `attributes`. A link is `content` if
/// its target differs, a device if its numbers do; a folder never is. `newer`: a file that would be
/// `content`, by NewerPolicy::keep, if the destination's time is later by more than the window. An
/// entry that is excluded on either side is `excluded`; else one that could not be read on either
/// side is `unknown`, even if the other side has none.
///
/// The differences are those that rsync's itemised line shows, and there are none with any other
/// verdict than `attributes`, `content` and `newer`. With `checksum`, another size is another
/// content too. The mode of a link does not count.
Comparison compare(const Entry* src, const Entry* dst, const CompareRules& rules);

std::string_view verdict_name(Verdict verdict);
std::string_view kind_name(Kind kind);

}  // namespace sluice::migrate
