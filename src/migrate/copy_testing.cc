// SPDX-License-Identifier: MIT
#include "migrate/copy_testing.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sluice/random.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "migrate/stat_entry.h"
#include "migrate/temp_name.h"

namespace sluice::migrate::testing {

Known::Known(int folder, std::string_view name) : name_(name) {
  const auto found = look_at(folder, name);
  EXPECT_TRUE(found) << name << ": errno " << (found ? 0 : found.error());
  if (!found) return;
  entry_ = *found;
  if (entry_.kind != Kind::link) return;
  target_.resize(5000);
  const ssize_t got = readlinkat(folder, name_.c_str(), target_.data(), target_.size());
  target_.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
}

Entry Known::entry() const {
  Entry entry = entry_;
  entry.name = name_;
  entry.target = target_;
  return entry;
}

Entry Known::changed(const std::function<void(Entry&)>& change) const {
  Entry entry = this->entry();
  change(entry);
  return entry;
}

TwoTrees::TwoTrees(test::Place place) : dir(place) {
  for (const auto& [name, fd] : {std::pair{"src", &src}, std::pair{"dst", &dst}}) {
    std::filesystem::create_directory(dir / name);
    fd->reset(open((dir / name).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
}

void TwoTrees::write_src(std::string_view name, const std::string& bytes) const {
  test::write_file(src_path(name), bytes);
  const timespec times[2] = {{1'500'000'000, 1}, {1'600'000'000, 123'456'789}};
  EXPECT_EQ(utimensat(AT_FDCWD, src_path(name).c_str(), times, 0), 0);
}

void TwoTrees::write_dst(std::string_view name, const std::string& bytes) const {
  test::write_file(dst_path(name), bytes);
}

CopyResult<Copied> TwoTrees::copy(std::string_view name, const CopyRules& rules) const {
  const Known known = src_known(name);
  return copy(known.entry(), nullptr, rules);
}

CopyResult<Copied> TwoTrees::copy(const Entry& wanted, const Entry* replaced,
                                  const CopyRules& rules) const {
  const std::string temp = temp_name("tag", wanted.name);
  const CopyOrder order{
      .src = src.get(), .dst = dst.get(), .wanted = wanted, .replaced = replaced, .temp = temp};
  if (wanted.kind == Kind::file) return copy_file(order, rules);
  if (wanted.kind == Kind::link) return copy_link(order, rules);
  return copy_special(order, rules);
}

std::vector<CopyRules> all_ways() {
  std::vector<CopyRules> ways;
  for (const bool verify : {false, true})
    for (const bool unnamed : {false, true})
      for (const bool throttled : {false, true}) {
        ways.push_back({.verify = verify, .unnamed = unnamed});
        if (throttled) ways.back().throttle = [](std::size_t) {};
      }
  return ways;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

struct stat stat_of(const std::string& path) {
  struct stat info{};
  EXPECT_EQ(lstat(path.c_str(), &info), 0) << path;
  return info;
}

std::string random_bytes(std::size_t size, std::uint64_t seed) {
  SeededRandom random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.next());
  return bytes;
}

std::string xattrs_of(const std::string& path) {
  std::array<char, 65536> names;
  std::array<char, 65536> value;
  const ssize_t got = llistxattr(path.c_str(), names.data(), names.size());
  std::vector<std::string> lines;
  for (ssize_t at = 0; at < got;) {
    const std::string name = names.data() + at;
    at += static_cast<ssize_t>(name.size()) + 1;
    const ssize_t size = lgetxattr(path.c_str(), name.c_str(), value.data(), value.size());
    lines.push_back(name + "=" + std::string(value.data(), static_cast<std::size_t>(size)));
  }
  std::ranges::sort(lines);
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}

std::string acl_with_user(std::uint32_t uid) {
  struct Row {
    std::uint16_t tag;
    std::uint16_t bits;
    std::uint32_t id;
  };
  constexpr std::uint32_t kNobody = 0xffffffff;
  // Owner rw, that user rwx, group r, mask rwx, others nothing.
  const std::array<Row, 5> rows = {
      {{1, 6, kNobody}, {2, 7, uid}, {4, 4, kNobody}, {16, 7, kNobody}, {32, 0, kNobody}}};
  std::string value("\2\0\0\0", 4);
  value.append(reinterpret_cast<const char*>(rows.data()), sizeof rows);
  return value;
}

std::string run_apart(const std::function<std::string()>& body) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const Descriptor in(ends[0]);
  Descriptor out(ends[1]);
  const pid_t pid = fork();
  if (pid == 0) {
    const std::string text = body();
    const ssize_t put = write(out.get(), text.data(), text.size());
    _exit(put == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  out.reset();
  std::string text;
  std::array<char, 4096> bytes;
  for (ssize_t got; (got = read(in.get(), bytes.data(), bytes.size())) > 0;)
    text.append(bytes.data(), static_cast<std::size_t>(got));
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : "died";
}

std::string mount_tmpfs(const std::string& path, const char* options) {
  if (unshare(CLONE_NEWNS) != 0) return std::string("skip: unshare: ") + std::strerror(errno);
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("tmpfs", path.c_str(), "tmpfs", 0, options) != 0)
    return std::string("skip: mount: ") + std::strerror(errno);
  return {};
}

}  // namespace sluice::migrate::testing
