// SPDX-License-Identifier: MIT
#include "migrate/walk.h"

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "migrate/folder_attempt.h"
#include "migrate/plan.h"
#include "migrate/stream.h"
#include "migrate/tree.h"

namespace sluice::migrate {
namespace {

struct Records {
  std::optional<Folder> src;
  std::optional<Folder> dst;
  // If they were asked for: from the same moment, so that a directory that is listed again just now
  // is as it was before or as it is after, unless it is large.
  std::string first_src;  // Chunks.
  std::string first_dst;
  std::unique_ptr<EntryStream> copied;  // What the copy did in it.
};

Result<std::string> first_chunk(kv::Reader& reader, Part part, FolderId id,
                                const std::optional<Folder>& folder) {
  if (!folder || folder->chunks == 0) return std::string();
  SLUICE_LET(chunk, reader.get(keys::chunk(part, id, folder->generation, 0)));
  return std::move(chunk).value_or(std::string());
}

Result<Records> read_records(kv::Store& store, FolderId id, bool with_names) {
  Records records;
  SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(src, read_folder(reader, Side::src, id));
    SLUICE_LET(dst, read_folder(reader, Side::dst, id));
    records = Records();
    records.src = std::move(src);
    records.dst = std::move(dst);
    if (!with_names) return {};
    SLUICE_LET(copied, copied_in(reader, id));
    records.copied = std::move(copied);
    SLUICE_LET(first_src, first_chunk(reader, Part::src, id, records.src));
    SLUICE_LET(first_dst, first_chunk(reader, Part::dst, id, records.dst));
    records.first_src = std::move(first_src);
    records.first_dst = std::move(first_dst);
    return {};
  }));
  return records;
}

std::unique_ptr<EntryStream> block_of(kv::Store& store, Part part, FolderId id,
                                      const std::optional<Folder>& folder, std::string first) {
  if (!folder || folder->chunks == 0) return std::make_unique<NoEntries>();
  return std::make_unique<BlockStream>(
      store,
      BlockStream::Block{
          .part = part, .id = id, .generation = folder->generation, .chunks = folder->chunks},
      std::move(first));
}

/// Whether the destination's listing says what is there, also if that is nothing.
bool is_known(const std::optional<Folder>& dst) {
  return dst && (dst->status == TraversalStatus::successful || dst->changed);
}

/// One directory that is being walked.
class Frame {
 public:
  static Result<Frame> open(kv::Store& store, FolderId id, std::string path, bool excluded) {
    Frame frame;
    frame.id = id;
    frame.path = std::move(path);
    frame.excluded = excluded;
    SLUICE_LET(records, read_records(store, id, true));
    frame.known = is_known(records.dst);
    frame.compared = records.dst.has_value();
    frame.src_ = block_of(store, Part::src, id, records.src, std::move(records.first_src));
    frame.dst_ = block_of(store, Part::dst, id, records.dst, std::move(records.first_dst));
    frame.copied_ = std::move(records.copied);
    SLUICE_LET(s, frame.src_->next());
    SLUICE_LET(d, frame.dst_->next());
    SLUICE_LET(c, frame.copied_->next());
    frame.src = s;
    frame.dst = d;
    frame.copied = c;
    return frame;
  }

  bool at_end() const { return src == nullptr && dst == nullptr; }
  std::string_view name() const {
    if (src == nullptr) return dst->name;
    if (dst == nullptr) return src->name;
    return std::min(src->name, dst->name);
  }
  /// The entries of name(), or null.
  const Entry* src_now() const { return src != nullptr && src->name == name() ? src : nullptr; }
  const Entry* dst_now() const { return dst != nullptr && dst->name == name() ? dst : nullptr; }
  Result<const Entry*> copied_now() {
    while (copied != nullptr && copied->name < name()) {
      SLUICE_LET(following, copied_->next());
      copied = following;
    }
    return copied != nullptr && copied->name == name() ? copied : nullptr;
  }

  Status advance() {
    const bool move_src = src_now() != nullptr;
    const bool move_dst = dst_now() != nullptr;
    if (move_src) {
      SLUICE_LET(following, src_->next());
      src = following;
    }
    if (move_dst) {
      SLUICE_LET(following, dst_->next());
      dst = following;
    }
    return {};
  }

  /// Whether what is in `folder`, which was visited, comes before the next name here: "a", "a-b",
  /// "a/c" is the order of paths.
  bool is_turn_of(std::string_view folder) const {
    if (at_end()) return true;
    const std::string_view next = name();
    return !next.starts_with(folder) || next[folder.size()] > '/';
  }

  FolderId id = 0;
  std::string path;
  bool excluded = false;
  bool known = false;
  bool compared = false;
  /// Visited, and still to be entered; each name is the beginning of the next one's.
  struct Waiting {
    FolderId id = 0;
    std::string name = {};
    bool excluded = false;
  };
  std::vector<Waiting> waiting;

 private:
  Frame() = default;
  std::unique_ptr<EntryStream> src_, dst_, copied_;
  const Entry* src = nullptr;
  const Entry* dst = nullptr;
  const Entry* copied = nullptr;
};

bool in_doubt(const std::optional<Folder>& folder) {
  return folder && (folder->status == TraversalStatus::failed || folder->changed);
}

CopyStatus copy_status_now(const WalkItem& item) {
  if (item.excluded) return CopyStatus::skipped;
  return item.copied != nullptr ? copy_status(*item.copied) : copy_status(item.found.verdict);
}

class Walk {
 public:
  Walk(kv::Store& store, const WalkOptions& options,
       const std::function<bool(const WalkItem&)>& visitor)
      : store_(store), options_(options), visitor_(visitor) {}

  Status run() {
    SLUICE_TRY(store_.read([&](kv::Reader& reader) -> Status {
      SLUICE_LET(settings, read_settings(reader));
      if (!settings) return {Code::not_found, "there is no ledger here"};
      rules_ = settings->rules;
      SLUICE_LET(rows, reader.scan(keys::exclusions()));
      for (const kv::KeyValue& row : rows) {
        SLUICE_LET(key, keys::parse_exclusion(row.key));
        exclusions_.emplace(key.folder, key.name);
      }
      return {};
    }));
    SLUICE_LET(top, Frame::open(store_, kAboveRoot, "", false));
    frames_.push_back(std::move(top));
    while (!frames_.empty()) {
      SLUICE_LET(go_on, step());
      if (!go_on) return {};
    }
    if (!options_.under.empty() && !found_)
      return error(Code::not_found, "the ledger knows nothing at '" + options_.under + "'");
    return {};
  }

 private:
  Result<bool> step() {
    Frame& frame = frames_.back();
    if (!frame.waiting.empty() && frame.is_turn_of(frame.waiting.back().name)) {
      SLUICE_TRY(enter_waiting());
      return true;
    }
    if (frame.at_end()) {
      frames_.pop_back();
      return true;
    }
    const bool root = frame.id == kAboveRoot;
    const std::string name(frame.name());
    const std::string path = root ? std::string() : join_path(frame.path, name);
    WalkItem item{.path = root ? std::string_view(".") : std::string_view(path),
                  .level = static_cast<std::uint32_t>(frames_.size()) - 1,
                  .src = frame.src_now(),
                  .dst = frame.dst_now(),
                  .compared = frame.compared,
                  .excluded = frame.excluded || exclusions_.contains({frame.id, name})};
    Records records;
    const FolderId child = item.src != nullptr ? item.src->id : 0;
    if (child != 0) {
      SLUICE_LET(read, read_records(store_, child, false));
      records = std::move(read);
      if (records.src) item.src_folder = &*records.src;
      if (records.dst) item.dst_folder = &*records.dst;
    }
    item.found =
        frame.known ? compare(item.src, item.dst, rules_) : Comparison{.verdict = Verdict::unknown};
    SLUICE_LET(copied, frame.copied_now());
    item.copied = copied;
    item.copy = copy_status_now(item);
    // What is in it is not known; it is itself still made, and counted so.
    if (in_doubt(records.src) || in_doubt(records.dst)) item.found = {.verdict = Verdict::unknown};
    if (is_wanted(path) && !visitor_(item)) return false;
    if (child != 0 && leads_on(path))
      frame.waiting.push_back({.id = child, .name = name, .excluded = item.excluded});
    SLUICE_TRY(frame.advance());
    return true;
  }

  Status enter_waiting() {
    Frame& frame = frames_.back();
    const Frame::Waiting folder = std::move(frame.waiting.back());
    frame.waiting.pop_back();
    const bool root = frame.id == kAboveRoot;
    SLUICE_LET(next, Frame::open(store_, folder.id, root ? "" : join_path(frame.path, folder.name),
                                 folder.excluded));
    frames_.push_back(std::move(next));
    return {};
  }

  static bool is_below(std::string_view path, std::string_view above) {
    return above.empty() ||
           (path.starts_with(above) && (path.size() == above.size() || path[above.size()] == '/'));
  }
  bool is_wanted(std::string_view path) {
    const std::string& under = options_.under;
    if (!is_below(path, under)) return false;
    found_ = true;
    if (options_.descend || path.size() == under.size()) return true;
    const std::string_view rest = path.substr(under.empty() ? 0 : under.size() + 1);
    return rest.find('/') == std::string_view::npos;
  }
  /// Whether something that is wanted may be in this directory.
  bool leads_on(std::string_view path) const {
    const std::string& under = options_.under;
    if (is_below(under, path) && path.size() < under.size()) return true;
    if (!is_below(path, under)) return false;
    return options_.descend || path.size() == under.size();
  }

  kv::Store& store_;
  const WalkOptions& options_;
  const std::function<bool(const WalkItem&)>& visitor_;
  CompareRules rules_;
  std::set<std::pair<FolderId, std::string>> exclusions_;
  std::vector<Frame> frames_;
  bool found_ = false;
};

}  // namespace

CopyStatus copy_status(const Entry& copied) {
  switch (static_cast<CopyOutcome>(copied.id)) {
    case CopyOutcome::failed:
      return CopyStatus::failed;
    case CopyOutcome::skipped:
      return CopyStatus::skipped;
    default:
      return CopyStatus::successful;
  }
}

std::string reason_text(std::uint32_t error) {
  switch (error) {
    case kDriftedSrc:
      return "the source changed since it was compared";
    case kDriftedDst:
      return "the destination changed since it was compared";
    case kInTheWay:
      return "a folder is in the way; --delete removes it";
    case kVerifyFailed:
      return "what was read back is not what was written";
    case kDeleteLimit:
      return "--max-delete is reached";
    case kNotCopied:
      return "the folder that it would be in could not be made";
    default:
      return errno_name(static_cast<int>(error));
  }
}

Status walk(kv::Store& store, const WalkOptions& options,
            const std::function<bool(const WalkItem&)>& visitor) {
  return Walk(store, options, visitor).run();
}

}  // namespace sluice::migrate
