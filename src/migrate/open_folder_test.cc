// SPDX-License-Identifier: MIT
#include "migrate/open_folder.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>

#include "migrate/copy_testing.h"

namespace sluice::migrate::testing {
namespace {

/// As on a kernel that has no openat2.
bool forbid_openat2() {
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{.len = 4, .filter = steps};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// "ok" if the folder that was opened is the one with that number; else the error.
std::string opens(int root, const std::string& path, ino_t inode, int flags = O_RDONLY) {
  const auto fd = open_folder(root, path, flags);
  if (!fd) return "error " + std::to_string(fd.error());
  struct stat info{};
  fstat(fd->get(), &info);
  if (inode != 0 && info.st_ino != inode) return "another folder";
  return "ok";
}

/// A chain of folders whose path has exactly that many bytes; its path, and the number of the last.
std::pair<std::string, ino_t> make_chain(int root, std::size_t bytes) {
  std::string path;
  Descriptor at(dup(root));
  while (path.size() < bytes) {
    const std::size_t rest = bytes - path.size() - (path.empty() ? 0 : 1);
    const std::string name(rest > 255 ? 200 : rest, 'n');
    mkdirat(at.get(), name.c_str(), 0755);
    at.reset(openat(at.get(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    path += (path.empty() ? "" : "/") + name;
  }
  struct stat info{};
  fstat(at.get(), &info);
  return {path, info.st_ino};
}

/// The same things hold with openat2 and without.
std::string check_all(const TwoTrees& trees) {
  const int root = trees.src.get();
  std::string said;
  for (const std::size_t bytes : {1UL, 255UL, 4094UL, 4095UL, 4096UL, 4097UL, 8192UL, 20'000UL}) {
    const auto [path, inode] = make_chain(root, bytes);
    for (const int flags : {O_RDONLY, O_PATH})
      if (opens(root, path, inode, flags) != "ok") said += "not " + std::to_string(bytes) + " ";
  }
  said += opens(root, "", stat_of(trees.dir / "src").st_ino) == "ok" ? "root" : "no root";
  const std::string loop = "error " + std::to_string(ELOOP);
  const std::string no_folder = "error " + std::to_string(ENOTDIR);
  for (const char* refused : {"link", "link/below", "below/link", "file", "file/x"}) {
    const std::string got = opens(root, refused, 0);
    if (got != loop && got != no_folder) said += std::string(" opened ") + refused;
  }
  for (const char* bad : {"..", "below/..", ".", "/below", "below/", "below//link", "../src"})
    if (opens(root, bad, 0) != "error " + std::to_string(EINVAL))
      said += std::string(" took ") + bad;
  if (opens(root, "nothing/there", 0) != "error " + std::to_string(ENOENT))
    said += " found nothing";
  return said;
}

TEST(OpenFolder, paths_of_any_length_open_and_links_do_not) {
  const TwoTrees trees;
  std::filesystem::create_directory(trees.src_path("below"));
  std::filesystem::create_directory_symlink(trees.dir / "src/below", trees.src_path("link"));
  std::filesystem::create_directory_symlink("..", trees.src_path("below/link"));
  trees.write_src("file", "");
  EXPECT_EQ(run_apart([&] { return check_all(trees); }), "root");
  EXPECT_EQ(run_apart([&] {
              if (!forbid_openat2()) return std::string("no seccomp");
              return check_all(trees);
            }),
            "root");
}

}  // namespace
}  // namespace sluice::migrate::testing
