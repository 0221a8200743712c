// SPDX-License-Identifier: MIT
#include "migrate/compare.h"

#include "base/check.h"

namespace sluice::migrate {
namespace {

/// Whether `late` is more than the window after `early`. Their distance may not fit in 64 bits with
/// a sign, but it does without one.
bool is_later(std::int64_t late, std::int64_t early, std::int64_t window_ns) {
  if (late <= early) return false;
  return static_cast<std::uint64_t>(late) - static_cast<std::uint64_t>(early) >
         static_cast<std::uint64_t>(window_ns);
}

bool times_differ(const Entry& src, const Entry& dst, std::int64_t window_ns) {
  return is_later(src.mtime_ns, dst.mtime_ns, window_ns) ||
         is_later(dst.mtime_ns, src.mtime_ns, window_ns);
}

/// What can be set right without copying anything.
unsigned attribute_differences(const Entry& src, const Entry& dst, const CompareRules& rules) {
  unsigned differences = kNoDifference;
  const bool time_counts = src.kind == Kind::file || rules.times;
  if (time_counts && times_differ(src, dst, rules.window_ns)) differences |= kDiffTime;
  // A link has no mode of its own: whatever statx says of it cannot be set.
  if (rules.modes && src.kind != Kind::link && src.mode != dst.mode) differences |= kDiffMode;
  if (rules.owners && src.uid != dst.uid) differences |= kDiffOwner;
  if (rules.owners && src.gid != dst.gid) differences |= kDiffGroup;
  return differences;
}

/// What of the content is different, as far as it is known.
unsigned content_differences(const Entry& src, const Entry& dst, const CompareRules& rules) {
  switch (src.kind) {
    case Kind::file:
      // Different sizes are different contents, whether or not these were read.
      if (src.size != dst.size) return kDiffSize | (rules.checksum ? kDiffContent : kNoDifference);
      return rules.checksum && src.hash != dst.hash ? kDiffContent : kNoDifference;
    case Kind::link:
      return src.target != dst.target ? kDiffTarget : kNoDifference;
    case Kind::char_device:
    case Kind::block_device:
      return src.rdev_major != dst.rdev_major || src.rdev_minor != dst.rdev_minor ? kDiffDevice
                                                                                  : kNoDifference;
    case Kind::folder:
    case Kind::fifo:
    case Kind::socket:
      break;
  }
  return kNoDifference;
}

/// Both are there, readable, and of one kind.
Comparison compare_alike(const Entry& src, const Entry& dst, const CompareRules& rules) {
  const bool file = src.kind == Kind::file;
  const bool hashed = src.hash.has_value() && dst.hash.has_value();
  if (file && rules.checksum && src.size == dst.size && !hashed)
    return {.verdict = Verdict::unknown, .differences = kNoDifference};

  const unsigned content = content_differences(src, dst, rules);
  const unsigned attributes = attribute_differences(src, dst, rules);
  const auto differences = static_cast<std::uint16_t>(content | attributes);
  if (differences == kNoDifference) return {};

  const bool time_is_content = file && !rules.checksum && !rules.size_only;
  const bool copied = content != kNoDifference || (time_is_content && (attributes & kDiffTime));
  if (!copied) return {.verdict = Verdict::attributes, .differences = differences};
  const bool kept = file && rules.newer == NewerPolicy::keep &&
                    is_later(dst.mtime_ns, src.mtime_ns, rules.window_ns);
  return {.verdict = kept ? Verdict::newer : Verdict::content, .differences = differences};
}

}  // namespace

Comparison compare(const Entry* src, const Entry* dst, const CompareRules& rules) {
  SLUICE_CHECK(src != nullptr || dst != nullptr);
  SLUICE_CHECK(rules.window_ns >= 0);
  const auto only = [](Verdict verdict) { return Comparison{.verdict = verdict}; };
  if ((src != nullptr && src->excluded) || (dst != nullptr && dst->excluded))
    return only(Verdict::excluded);
  // Before `missing` and `extra`: what cannot be read can neither be copied nor safely deleted.
  if ((src != nullptr && src->error != 0) || (dst != nullptr && dst->error != 0))
    return only(Verdict::unknown);
  if (dst == nullptr) return only(Verdict::missing);
  if (src == nullptr) return only(Verdict::extra);
  if (src->kind != dst->kind) return only(Verdict::clash);
  return compare_alike(*src, *dst, rules);
}

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::same:
      return "same";
    case Verdict::attributes:
      return "attributes";
    case Verdict::content:
      return "content";
    case Verdict::missing:
      return "missing";
    case Verdict::extra:
      return "extra";
    case Verdict::clash:
      return "clash";
    case Verdict::newer:
      return "newer";
    case Verdict::unknown:
      return "unknown";
    case Verdict::excluded:
      return "excluded";
  }
  SLUICE_CHECK(false);
  return {};
}

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::file:
      return "file";
    case Kind::folder:
      return "folder";
    case Kind::link:
      return "link";
    case Kind::fifo:
      return "fifo";
    case Kind::socket:
      return "socket";
    case Kind::char_device:
      return "char_device";
    case Kind::block_device:
      return "block_device";
  }
  SLUICE_CHECK(false);
  return {};
}

}  // namespace sluice::migrate
