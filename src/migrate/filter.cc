// SPDX-License-Identifier: MIT
#include "migrate/filter.h"

#include <fnmatch.h>

#include <algorithm>

namespace sluice::migrate {

Result<Filters> Filters::make(const std::vector<Filter>& filters) {
  Filters made;
  for (const Filter& filter : filters) {
    const std::string& glob = filter.glob;
    if (glob.empty() || glob.find('\0') != glob.npos || glob.back() == '/')
      return error(Code::invalid_argument, "filter '" + glob +
                                               "' can match nothing: give a name or a path "
                                               "without '/' at its end");
    if (glob.find('/') == glob.npos)
      made.names_.push_back(glob);
    else
      made.paths_.push_back(glob.substr(glob.front() == '/' ? 1 : 0));
  }
  return made;
}

bool Filters::matches(const char* name, const char* path) const {
  const auto hits = [](const char* text) {
    return [text](const std::string& glob) { return ::fnmatch(glob.c_str(), text, 0) == 0; };
  };
  return std::ranges::any_of(names_, hits(name)) || std::ranges::any_of(paths_, hits(path));
}

DirectoryFilter::DirectoryFilter(const Filters& filters, std::string_view directory)
    : filters_(filters) {
  if (!filters_.need_paths() || directory.empty()) return;
  path_ = directory;
  path_ += '/';
  prefix_ = path_.size();
}

bool DirectoryFilter::matches(const char* name) {
  if (filters_.empty()) return false;
  if (filters_.need_paths()) {
    path_.resize(prefix_);
    path_ += name;
  }
  return filters_.matches(name, path_.c_str());
}

}  // namespace sluice::migrate
