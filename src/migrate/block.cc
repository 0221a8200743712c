// SPDX-License-Identifier: MIT
#include "migrate/block.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/check.h"
#include "codec/record.h"

namespace sluice::migrate {
namespace {

constexpr codec::RecordFormat kChunkFormat{.type = 40, .major = 1, .minor = 0, .field_max = 2};
constexpr unsigned kFieldEntries = 1;
constexpr unsigned kFieldBody = 2;

// The low three bits of an entry's flags are its kind. The rest say which parts follow; those of a
// usual file are in the first byte of the varint.
constexpr unsigned kKindMask = 7;
constexpr unsigned kHasMode = 1 << 3;
constexpr unsigned kHasUid = 1 << 4;
constexpr unsigned kHasGid = 1 << 5;
constexpr unsigned kHasSize = 1 << 6;
constexpr unsigned kHasTarget = 1 << 7;
constexpr unsigned kHasNumbers = 1 << 8;  // Of a device.
constexpr unsigned kHasInode = 1 << 9;    // And the device it is on.
constexpr unsigned kHasHash = 1 << 10;
constexpr unsigned kHasError = 1 << 11;
constexpr unsigned kIsExcluded = 1 << 12;
constexpr unsigned kHasId = 1 << 13;
constexpr unsigned kFlagsMax = (1 << 14) - 1;

constexpr std::uint32_t kModeMax = 07777;
constexpr std::uint64_t kU32Max = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kU64Max = std::numeric_limits<std::uint64_t>::max();
constexpr std::int64_t kSecond = 1'000'000'000;

// Flags, shared, suffix, seconds, nanoseconds: one byte each, and an empty name.
constexpr std::size_t kEntryBytesMin = 5;
// All numbers of an entry, were they as long as varints get: sixteen of them, and the hash.
constexpr std::size_t kNumbersBytesMax = 16 * 10 + sizeof(Hash);

// What the record puts around the body: itself, and two fields with their tags.
constexpr std::size_t kAroundBytes = codec::kRecordBytesMin + (1 + 2) + (1 + 3);
constexpr std::size_t kBodyBytesMax = kChunkBytesMax - kAroundBytes;
static_assert(kBodyBytesMax < 1 << 21, "the body's length takes at most three bytes");
static_assert(kBodyBytesMax / kEntryBytesMin < 1 << 14, "the count takes at most two bytes");
static_assert(kNumbersBytesMax + kNameBytesMax + kTargetBytesMax <= kBodyBytesMax,
              "an empty chunk takes every entry");

/// Of the body that the entries of a usual directory make.
constexpr std::size_t kUsualBytes = 500;

std::uint8_t byte_of(char c) {
  return static_cast<std::uint8_t>(c);
}

/// Small magnitudes make small numbers: 0, -1, 1, -2 become 0, 1, 2, 3.
std::uint64_t zigzag(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value) << 1;
  return value < 0 ? ~bits : bits;
}

std::int64_t unzigzag(std::uint64_t bits) {
  const std::uint64_t half = bits >> 1;
  return static_cast<std::int64_t>((bits & 1) != 0 ? ~half : half);
}

struct Time {
  std::int64_t seconds = 0;
  std::uint32_t nanoseconds = 0;  // Also before 1970, they count forward.
};

Time split(std::int64_t mtime_ns) {
  std::int64_t seconds = mtime_ns / kSecond;
  std::int64_t rest = mtime_ns % kSecond;
  if (rest < 0) {
    rest += kSecond;
    --seconds;
  }
  return {.seconds = seconds, .nanoseconds = static_cast<std::uint32_t>(rest)};
}

constexpr std::int64_t kTimeMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kTimeMax = std::numeric_limits<std::int64_t>::max();

/// Nothing if the time does not fit in 64 bits of nanoseconds.
std::optional<std::int64_t> join(const Time& time) {
  const __int128 ns = static_cast<__int128>(time.seconds) * kSecond + time.nanoseconds;
  if (ns < kTimeMin || ns > kTimeMax) return std::nullopt;
  return static_cast<std::int64_t>(ns);
}

/// An entry but for its target, built aside so that it costs one append, and one that does not fit
/// leaves nothing behind.
class PackedEntry {
 public:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) *at_++ = static_cast<char>(value | 0x80);
    *at_++ = static_cast<char>(value);
  }
  void hash(const Hash& hash) {
    std::memcpy(at_, hash.data(), hash.size());
    at_ += hash.size();
  }
  void name(std::string_view suffix) { at_ = std::copy(suffix.begin(), suffix.end(), at_); }
  std::string_view view() const { return {bytes_, static_cast<std::size_t>(at_ - bytes_)}; }

 private:
  char bytes_[kNumbersBytesMax + kNameBytesMax];
  char* at_ = bytes_;
};

/// Takes the same apart. What it returns after something was wrong does not count.
class NumberReader {
 public:
  explicit NumberReader(std::string_view bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool good() const { return good_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

  /// In the shortest form only.
  std::uint64_t varint(std::uint64_t max) {
    if (at_ != end_ && byte_of(*at_) < 0x80) {
      const std::uint64_t value = byte_of(*at_++);
      if (value > max) good_ = false;
      return value;
    }
    return long_varint(max);
  }
  std::uint64_t long_varint(std::uint64_t max) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && at_ != end_; shift += 7) {
      const std::uint64_t byte = byte_of(*at_++);
      value |= (byte & 0x7f) << shift;
      if (byte >= 0x80) continue;
      const bool padded = byte == 0 && shift > 0;
      const bool overflows = shift == 63 && byte > 1;
      if (padded || overflows || value > max) good_ = false;
      return value;
    }
    good_ = false;
    return 0;
  }
  std::uint32_t u32(std::uint64_t max = kU32Max) { return static_cast<std::uint32_t>(varint(max)); }
  /// A part that would not be there if it were `absent`.
  std::uint64_t other_than(std::uint64_t absent, std::uint64_t max) {
    const std::uint64_t value = varint(max);
    if (value == absent) good_ = false;
    return value;
  }
  std::uint32_t u32_other_than(std::uint32_t absent, std::uint64_t max = kU32Max) {
    return static_cast<std::uint32_t>(other_than(absent, max));
  }
  Hash hash() {
    Hash hash{};
    if (left() < hash.size()) {
      good_ = false;
    } else {
      std::memcpy(hash.data(), at_, hash.size());
      at_ += hash.size();
    }
    return hash;
  }

 private:
  const char* at_;
  const char* end_;
  bool good_ = true;
};

std::size_t shared_bytes(std::string_view a, std::string_view b) {
  const std::size_t most = std::min(a.size(), b.size());
  std::size_t shared = 0;
  for (; most - shared >= sizeof(std::uint64_t); shared += sizeof(std::uint64_t)) {
    std::uint64_t eight_of_a, eight_of_b;
    std::memcpy(&eight_of_a, a.data() + shared, sizeof eight_of_a);
    std::memcpy(&eight_of_b, b.data() + shared, sizeof eight_of_b);
    if (eight_of_a != eight_of_b) break;
  }
  while (shared < most && a[shared] == b[shared]) ++shared;
  return shared;
}

/// The parts that do not depend on the entry before.
unsigned flags_of(const Entry& entry) {
  unsigned flags = static_cast<unsigned>(entry.kind);
  if (entry.size != 0) flags |= kHasSize;
  if (!entry.target.empty()) flags |= kHasTarget;
  if (entry.rdev_major != 0 || entry.rdev_minor != 0) flags |= kHasNumbers;
  if (entry.device != 0 || entry.inode != 0) flags |= kHasInode;
  if (entry.hash) flags |= kHasHash;
  if (entry.error != 0) flags |= kHasError;
  if (entry.excluded) flags |= kIsExcluded;
  if (entry.id != 0) flags |= kHasId;
  return flags;
}

void put_parts(PackedEntry& numbers, unsigned flags, const Entry& entry) {
  if (flags & kHasMode) numbers.varint(entry.mode);
  if (flags & kHasUid) numbers.varint(entry.uid);
  if (flags & kHasGid) numbers.varint(entry.gid);
  if (flags & kHasSize) numbers.varint(entry.size);
  if (flags <= (kHasSize | (kHasSize - 1))) return;  // A usual file ends here.
  if (flags & kHasTarget) numbers.varint(entry.target.size());
  if (flags & kHasNumbers) {
    numbers.varint(entry.rdev_major);
    numbers.varint(entry.rdev_minor);
  }
  if (flags & kHasInode) {
    numbers.varint(entry.device);
    numbers.varint(entry.inode);
  }
  if (flags & kHasHash) numbers.hash(*entry.hash);
  if (flags & kHasError) numbers.varint(entry.error);
  if (flags & kHasId) numbers.varint(entry.id);
}

}  // namespace

bool ChunkWriter::add(const Entry& entry) {
  SLUICE_CHECK(entry.name.size() <= kNameBytesMax);
  SLUICE_CHECK(entry.target.size() <= kTargetBytesMax);
  SLUICE_CHECK(entry.mode <= kModeMax);
  SLUICE_CHECK(entry.kind <= Kind::block_device);
  const std::size_t same = shared_bytes(name_last_, entry.name);
  if (started_) {
    SLUICE_CHECK(same < entry.name.size());
    SLUICE_CHECK(same == name_last_.size() ||
                 byte_of(entry.name[same]) > byte_of(name_last_[same]));
  }
  // A chunk is read by itself, so its first name is whole.
  const std::size_t shared = empty() ? 0 : same;
  const std::string_view suffix = entry.name.substr(shared);
  const Time time = split(entry.mtime_ns);
  unsigned flags = flags_of(entry);
  if (entry.mode != mode_) flags |= kHasMode;
  if (entry.uid != uid_) flags |= kHasUid;
  if (entry.gid != gid_) flags |= kHasGid;

  PackedEntry packed;
  packed.varint(flags);
  packed.varint(shared);
  packed.varint(suffix.size());
  packed.varint(zigzag(time.seconds - seconds_));
  packed.varint(time.nanoseconds);
  put_parts(packed, flags, entry);
  packed.name(suffix);
  if (body_.size() + packed.view().size() + entry.target.size() > kBodyBytesMax) return false;

  if (body_.empty()) body_.reserve(kUsualBytes);
  body_.append(packed.view());
  if (!entry.target.empty()) body_.append(entry.target);
  name_last_.assign(entry.name);
  started_ = true;
  ++entries_;
  mode_ = entry.mode;
  uid_ = entry.uid;
  gid_ = entry.gid;
  seconds_ = time.seconds;
  return true;
}

std::string ChunkWriter::finish() {
  std::string chunk = codec::RecordWriter(kChunkFormat, body_.size() + kAroundBytes)
                          .field(kFieldEntries, entries_)
                          .field(kFieldBody, body_)
                          .finish();
  SLUICE_CHECK(chunk.size() <= kChunkBytesMax);
  body_.clear();
  entries_ = 0;
  mode_ = uid_ = gid_ = 0;
  seconds_ = 0;
  return chunk;
}

struct ChunkReader::Parsed {
  std::size_t shared = 0;
  std::string_view suffix;
  Time time;
  std::size_t bytes = 0;
};

Result<ChunkReader> ChunkReader::open(std::string_view chunk) {
  SLUICE_LET(record, codec::RecordReader::open(chunk, kChunkFormat));
  // The body has no room for what is not known here, so every change of it is a new version.
  if (record.minor() != kChunkFormat.minor)
    return error(Code::invalid_argument, "chunk: written by a newer version of the program");
  SLUICE_LET(entries, record.u64(kFieldEntries));
  SLUICE_LET(body, record.bytes(kFieldBody));
  if (!record.newer_fields().empty()) return error(Code::corrupt, "chunk: a field is not known");
  if (body.size() > kBodyBytesMax) return error(Code::corrupt, "chunk: it is too large");
  if (entries > body.size() / kEntryBytesMin)
    return error(Code::corrupt, "chunk: it is too small for its entries");
  ChunkReader reader;
  reader.rest_ = body;
  reader.entries_ = reader.left_ = static_cast<std::size_t>(entries);
  return reader;
}

Result<const Entry*> ChunkReader::next() {
  if (left_ == 0) {
    if (!rest_.empty()) return error(Code::corrupt, "chunk: more follows its last entry");
    return nullptr;
  }
  entry_ = Entry();
  Parsed parsed;
  if (const char* problem = parse(parsed, entry_); problem != nullptr) return fail(problem);
  if (const char* problem = check_name(parsed); problem != nullptr) return fail(problem);
  name_.resize(parsed.shared);
  name_.append(parsed.suffix);
  entry_.name = name_;
  rest_.remove_prefix(parsed.bytes);
  --left_;
  mode_ = entry_.mode;
  uid_ = entry_.uid;
  gid_ = entry_.gid;
  seconds_ = parsed.time.seconds;
  return &entry_;
}

const char* ChunkReader::parse(Parsed& parsed, Entry& entry) const {
  NumberReader numbers(rest_);
  const unsigned flags = numbers.u32(kFlagsMax);
  const unsigned kind = flags & kKindMask;
  if (kind > static_cast<unsigned>(Kind::block_device)) return "its kind is not known";
  entry.kind = static_cast<Kind>(kind);
  parsed.shared = numbers.varint(kNameBytesMax);
  const std::size_t suffix_bytes = numbers.varint(kNameBytesMax);
  const std::int64_t delta = unzigzag(numbers.varint(kU64Max));
  parsed.time.nanoseconds = numbers.u32(kSecond - 1);
  entry.mode = flags & kHasMode ? numbers.u32_other_than(mode_, kModeMax) : mode_;
  entry.uid = flags & kHasUid ? numbers.u32_other_than(uid_) : uid_;
  entry.gid = flags & kHasGid ? numbers.u32_other_than(gid_) : gid_;
  if (flags & kHasSize) entry.size = numbers.other_than(0, kU64Max);
  const std::size_t target_bytes = flags & kHasTarget ? numbers.other_than(0, kTargetBytesMax) : 0;
  if (flags & kHasNumbers) {
    entry.rdev_major = numbers.u32();
    entry.rdev_minor = numbers.u32();
  }
  if (flags & kHasInode) {
    entry.device = numbers.varint(kU64Max);
    entry.inode = numbers.varint(kU64Max);
  }
  if (flags & kHasHash) entry.hash = numbers.hash();
  if (flags & kHasError) entry.error = numbers.u32_other_than(0);
  entry.excluded = (flags & kIsExcluded) != 0;
  if (flags & kHasId) entry.id = numbers.other_than(0, kU64Max);
  if (!numbers.good()) return "a number is malformed, out of its range or cut off";
  if ((flags & kHasNumbers) && entry.rdev_major == 0 && entry.rdev_minor == 0)
    return "its device numbers are zero";
  if ((flags & kHasInode) && entry.device == 0 && entry.inode == 0) return "its inode is zero";

  if (__builtin_add_overflow(seconds_, delta, &parsed.time.seconds)) return "its time is too far";
  const std::optional<std::int64_t> mtime_ns = join(parsed.time);
  if (!mtime_ns) return "its time is too far";
  entry.mtime_ns = *mtime_ns;
  if (suffix_bytes + target_bytes > numbers.left()) return "its name or target is cut off";
  const std::size_t text_at = rest_.size() - numbers.left();
  parsed.suffix = rest_.substr(text_at, suffix_bytes);
  entry.target = rest_.substr(text_at + suffix_bytes, target_bytes);
  parsed.bytes = text_at + suffix_bytes + target_bytes;
  return nullptr;
}

/// That the name is what comes after the one before, and shares with it all that it can.
const char* ChunkReader::check_name(const Parsed& parsed) const {
  if (parsed.shared > name_.size()) return "its name shares more than there is";
  if (parsed.shared + parsed.suffix.size() > kNameBytesMax) return "its name is too long";
  if (left_ == entries_) return nullptr;  // The first has none before it, and may be empty.
  if (parsed.suffix.empty()) return "its name is not after the one before";
  if (parsed.shared < name_.size() && byte_of(parsed.suffix[0]) <= byte_of(name_[parsed.shared]))
    return "its name is not after the one before";
  return nullptr;
}

Failure ChunkReader::fail(const char* problem) const {
  return error(Code::corrupt,
               "chunk, entry " + std::to_string(entries_ - left_ + 1) + ": " + problem);
}

}  // namespace sluice::migrate
