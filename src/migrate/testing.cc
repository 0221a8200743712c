// SPDX-License-Identifier: MIT
#include "migrate/testing.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/descriptor.h"

namespace sluice::migrate::testing {

std::optional<Entry> Listed::find(std::string_view name) const {
  for (std::size_t index = 0; index < all.size(); ++index)
    if (all.at(index).name == name) return all.at(index);
  return std::nullopt;
}

Listed list_all(Tree& tree, std::string_view path, const std::function<void(std::size_t)>& between,
                const FolderStamp& seen) {
  Listed listed;
  Listing scratch;
  listed.fault = tree.list(path, seen, scratch, [&](Listing& page) {
    EXPECT_FALSE(page.empty());
    listed.page_bytes_max = std::max(listed.page_bytes_max, page.bytes());
    listed.page_entries_max = std::max(listed.page_entries_max, page.size());
    for (std::size_t index = 0; index < page.size(); ++index) listed.all.add(page.at(index));
    ++listed.pages;
    if (between) between(listed.pages);
    return true;
  });
  listed.all.sort();
  return listed;
}

std::string in_child(const std::function<std::string()>& body) {
  std::array<int, 2> ends{};
  SLUICE_CHECK(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  const pid_t child = ::fork();
  SLUICE_CHECK(child >= 0);
  if (child == 0) {
    const std::string answer = body();
    const ssize_t written = ::write(writing.get(), answer.data(), answer.size());
    ::_exit(written == static_cast<ssize_t>(answer.size()) ? 0 : 1);
  }
  writing.reset();
  std::string answer;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = ::read(reading.get(), buffer.data(), buffer.size())) > 0;)
    answer.append(buffer.data(), static_cast<std::size_t>(got));
  int status = 0;
  SLUICE_CHECK(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? answer : "died";
}

}  // namespace sluice::migrate::testing
