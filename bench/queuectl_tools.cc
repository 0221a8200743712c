// SPDX-License-Identifier: MIT
#include "queuectl_tools.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/descriptor.h"
#include "queue_load.h"

namespace sluice::bench {
namespace {

// ext4 keeps the files of a directory together, and whoever makes one there walks past all that
// were deleted nearby in the last minutes: contenders would pay for each other's. With this flag it
// puts the directories in here far apart. Other file systems need no such thing.
void spread_directories(const std::string& path) {
  const Descriptor dir(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  int flags = 0;
  if (!dir.valid() || ioctl(dir.get(), FS_IOC_GETFLAGS, &flags) != 0) return;
  flags |= FS_TOPDIR_FL;
  (void)ioctl(dir.get(), FS_IOC_SETFLAGS, &flags);
}

}  // namespace

namespace fs = std::filesystem;

Result<Tools> Tools::find(const ScratchDir& scratch, const std::string& name) {
  std::error_code failure;
  Tools tools;
  const fs::path self = fs::read_symlink("/proc/self/exe", failure);
  tools.self_ = self;
  tools.queuectl_ = self.parent_path() / "queuectl";
  tools.bare_ = self.parent_path() / "bench" / "bare";
  for (const std::string& program : {tools.queuectl_, tools.bare_})
    if (!fs::exists(program, failure))
      return error(Code::not_found, "there is no " + program + ": ./run build makes it");
  tools.dir_ = fs::absolute(scratch / name, failure);
  fs::create_directories(tools.dir_, failure);
  spread_directories(tools.dir_);
  SLUICE_LET(home, tools.make_dir("home"));
  tools.environment_ = {"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C", "SHELL=/bin/sh",
                        "HOME=" + home, "TMPDIR=" + home};
  return tools;
}

Result<std::string> Tools::make_dir(const std::string& name) const {
  std::error_code failure;
  const std::string path = *this / name;
  fs::create_directories(path, failure);
  if (failure) return error(Code::io_error, "cannot make " + path + ": " + failure.message());
  return path;
}

Program Tools::program(std::vector<std::string> words, std::vector<std::string> settings) const {
  Program program{.words = std::move(words), .environment = environment_};
  for (std::string& setting : settings) program.environment.push_back(std::move(setting));
  return program;
}

Program Tools::queuectl(const std::string& store, std::vector<std::string> words) const {
  words.insert(words.begin(), queuectl_);
  return program(std::move(words), {"QUEUECTL_DB=" + store});
}

Result<std::string> Tools::make_list(const std::string& name, std::uint64_t count,
                                     const std::string& line) const {
  const std::string path = *this / name;
  const std::size_t place = line.find("{}");
  std::ofstream file(path, std::ios::binary);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (place == std::string::npos)
      file << line << '\n';
    else
      file << line.substr(0, place) << i << line.substr(place + 2) << '\n';
  }
  file.close();
  if (!file) return error(Code::io_error, "cannot write " + path);
  return path;
}

Result<Cost> Tools::enqueue_list(const std::string& store, const std::string& list) const {
  Program program = queuectl(store, {"enqueue", "--quiet", "-"});
  program.input = list;
  return run_program(program);
}

Status check_done(const std::string& store, std::uint64_t count) {
  SLUICE_LET(shop, Shop::open(store));
  SLUICE_LET(counts, shop.queues->count(kDefaultQueue));
  if (counts.done == count && counts.ready == 0 && counts.leased == 0) return {};
  return {Code::corrupt, fmt::format("{} jobs are done instead of {}", counts.done, count)};
}

}  // namespace sluice::bench
