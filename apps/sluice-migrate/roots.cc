// SPDX-License-Identifier: MIT
#include "sluice-migrate/roots.h"

#include <cerrno>
#include <filesystem>
#include <utility>

#include "cli/visible.h"
#include "migrate/open_tree.h"

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

/// A destination that copy has not made yet.
class AbsentTree final : public migrate::Tree {
 public:
  explicit AbsentTree(std::string name) : name_(std::move(name)) {}

  migrate::Fault list(std::string_view /*path*/, const migrate::FolderStamp& /*seen*/,
                      migrate::Listing& /*scratch*/, const migrate::PageSink& /*sink*/) override {
    return absent();
  }
  migrate::Fault stat_root(migrate::Listing& /*one*/) override { return absent(); }
  migrate::Fault hash(std::string_view /*path*/, const migrate::Entry& /*entry*/,
                      migrate::Hash& /*hash*/) override {
    return absent();
  }
  std::string name() const override { return name_; }

 private:
  static migrate::Fault absent() { return {.error = ENOENT, .detail = "open"}; }

  std::string name_;
};

bool is_inside(std::string_view path, std::string_view folder) {
  if (folder == "/") return true;
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

Result<std::string> resolve(const std::string& root) {
  if (is_simulated(root)) return root;
  std::error_code problem;
  fs::path path = fs::weakly_canonical(fs::absolute(root, problem), problem);
  if (problem.value() == EACCES)
    return error(Code::permission_denied, root + " cannot be reached: " + problem.message() +
                                              "; grant this account access to what it is in");
  if (problem)
    return error(Code::not_found,
                 root + " cannot be reached: " + problem.message() + "; correct the path");
  // "dir/" of what is not there keeps an empty last part.
  if (!path.has_filename() && path.has_relative_path()) path = path.parent_path();
  return path.string();
}

Status check_apart(const migrate::Settings& settings) {
  if (is_simulated(settings.src) || is_simulated(settings.dst)) return {};
  if (settings.src == settings.dst)
    return {Code::invalid_argument,
            "SRC and DST are the same folder, " + settings.src + ": name two"};
  if (is_inside(settings.dst, settings.src))
    return {Code::invalid_argument,
            "DST, " + settings.dst + ", is inside SRC, " + settings.src +
                ": it would become a part of itself; name a folder outside"};
  if (is_inside(settings.src, settings.dst))
    return {Code::invalid_argument, "SRC, " + settings.src + ", is inside DST, " + settings.dst +
                                        ": name the folder that it is to become the likeness of"};
  return {};
}

Result<std::unique_ptr<migrate::Tree>> open_root(const std::string& root,
                                                 const migrate::Settings& settings,
                                                 const Clock& clock) {
  std::vector<migrate::Filter> filters;
  for (const std::string& glob : settings.filters) filters.push_back({.glob = glob});
  return migrate::open_tree(
      root,
      {.clock = clock, .filters = std::move(filters), .one_file_system = settings.one_file_system});
}

}  // namespace

bool is_simulated(std::string_view root) {
  return root.starts_with("sim:");
}

Status resolve_roots(migrate::Settings& settings, const std::string& state) {
  SLUICE_LET(src, resolve(settings.src));
  SLUICE_LET(dst, resolve(settings.dst));
  settings.src = std::move(src);
  settings.dst = std::move(dst);
  std::error_code problem;
  if (!is_simulated(settings.src) && !fs::exists(settings.src, problem))
    return {Code::not_found, "SRC, " + settings.src + ", is not there: check the name, and that " +
                                 "what it is on is mounted"};
  SLUICE_TRY(check_apart(settings));
  for (const std::string* root : {&settings.src, &settings.dst})
    if (!is_simulated(*root) && is_inside(state, *root))
      return {Code::invalid_argument, "the ledger, " + state + ", would be inside " + *root +
                                          " and change it: name a folder outside with --state"};
  return {};
}

Result<Roots> open_roots(const migrate::Settings& settings, const Clock& clock) {
  Roots roots;
  SLUICE_LET(src, open_root(settings.src, settings, clock));
  roots.src = std::move(src);
  std::error_code problem;
  if (!is_simulated(settings.dst) && !fs::exists(settings.dst, problem) && !problem) {
    roots.dst = std::make_unique<AbsentTree>(settings.dst);
    return roots;
  }
  SLUICE_LET(dst, open_root(settings.dst, settings, clock));
  roots.dst = std::move(dst);
  return roots;
}

}  // namespace sluice::cli
