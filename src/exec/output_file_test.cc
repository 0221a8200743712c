// SPDX-License-Identifier: MIT
#include "exec/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "exec/testing.h"
#include "tests/support/temp_dir.h"

namespace sluice::exec {
namespace {

using testing::shell;
using testing::started;

constexpr std::uint64_t kPage = 4096;

// Bytes of which none is zero, and in which no two pages are alike.
std::string text_of(std::size_t bytes) {
  std::string text;
  for (std::size_t line = 0; text.size() < bytes; ++line)
    text += "line " + std::to_string(line) + "\n";
  text.resize(bytes);
  return text;
}

void append(const Descriptor& file, const std::string& bytes) {
  ASSERT_EQ(::write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
}

std::uint64_t stored_bytes(const std::string& path) {
  struct stat info{};
  EXPECT_EQ(::stat(path.c_str(), &info), 0);
  return static_cast<std::uint64_t>(info.st_blocks) * 512;
}

class OutputFile : public ::testing::TestWithParam<test::Place> {};
INSTANTIATE_TEST_SUITE_P(Places, OutputFile,
                         ::testing::Values(test::Place::memory, test::Place::disk),
                         [](const auto& place) -> std::string {
                           return place.param == test::Place::memory ? "memory" : "disk";
                         });

TEST_P(OutputFile, is_for_its_owner_only_and_appended_to) {
  const test::TempDir dir(GetParam());
  append(open_output(AT_FDCWD, dir / "out").value(), "one");
  const Descriptor at(::open(dir.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const Descriptor again = open_output(at.get(), "out").value();
  append(again, " two");
  EXPECT_EQ(test::read_file(dir / "out"), "one two");
  struct stat info{};
  ASSERT_EQ(::fstat(again.get(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
  EXPECT_NE(::fcntl(again.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_P(OutputFile, a_link_is_refused) {
  const test::TempDir dir(GetParam());
  test::write_file(dir / "target", "precious");
  std::filesystem::create_symlink(dir / "target", dir / "out");
  EXPECT_EQ(open_output(AT_FDCWD, dir / "out").error().code(), Code::invalid_argument);
  EXPECT_EQ(open_output(AT_FDCWD, dir / "no/out").error().code(), Code::not_found);
}

TEST_P(OutputFile, is_unused_while_it_is_empty_and_open_once) {
  const test::TempDir dir(GetParam());
  Descriptor file = open_output(AT_FDCWD, dir / "out").value();
  EXPECT_TRUE(is_unused(file.get()));
  EXPECT_TRUE(is_unused(file.get())) << "asking must change nothing";
  for (const int how : {O_RDONLY, O_WRONLY}) {
    const Descriptor other(::open((dir / "out").c_str(), how | O_CLOEXEC));
    EXPECT_FALSE(is_unused(file.get()));
  }
  Command command = shell("exec sleep 100");  // One process: what it had open is closed at its end.
  command.output = file.get();
  Process process = started(command);
  file = open_output(AT_FDCWD, dir / "out").value();
  EXPECT_FALSE(is_unused(file.get()));
  process.signal(SIGKILL);
  ASSERT_TRUE(process.wait());
  EXPECT_TRUE(is_unused(file.get()));
  append(file, "x");
  EXPECT_FALSE(is_unused(file.get()));
}

TEST_P(OutputFile, up_to_its_limit_it_is_kept_whole) {
  const test::TempDir dir(GetParam());
  const Descriptor file = open_output(AT_FDCWD, dir / "out").value();
  OutputCap cap(8 * kPage);
  EXPECT_EQ(hole_of(file.get()).value(), std::nullopt);
  ASSERT_TRUE(cap.enforce(file.get()).ok());
  append(file, text_of(8 * kPage));
  ASSERT_TRUE(cap.enforce(file.get()).ok());
  EXPECT_EQ(hole_of(file.get()).value(), std::nullopt);
  EXPECT_EQ(test::read_file(dir / "out"), text_of(8 * kPage));
  // A page more than the limit, and not all of it after a page's end.
  append(file, std::string(kPage, 'x'));
  ASSERT_TRUE(cap.enforce(file.get()).ok());
  EXPECT_EQ(hole_of(file.get()).value(), (Hole{.begin = 4 * kPage, .end = 5 * kPage}));
}

TEST_P(OutputFile, past_its_limit_its_beginning_and_its_end_are_kept) {
  const test::TempDir dir(GetParam());
  const Descriptor file = open_output(AT_FDCWD, dir / "out").value();
  const std::string text = text_of(100 * kPage + 123);
  append(file, text);
  OutputCap cap(8 * kPage + 10);
  ASSERT_TRUE(cap.enforce(file.get()).ok());
  const Hole hole{.begin = 5 * kPage, .end = 96 * kPage};
  EXPECT_EQ(hole_of(file.get()).value(), hole);
  const std::string left = test::read_file(dir / "out");
  ASSERT_EQ(left.size(), text.size());
  EXPECT_EQ(left.substr(0, hole.begin), text.substr(0, hole.begin));
  EXPECT_EQ(left.substr(hole.begin, hole.end - hole.begin),
            std::string(hole.end - hole.begin, '\0'));
  EXPECT_EQ(left.substr(hole.end), text.substr(hole.end));
  EXPECT_LE(stored_bytes(dir / "out"), 16 * kPage);
}

TEST_P(OutputFile, the_writer_goes_on_and_the_hole_grows) {
  const test::TempDir dir(GetParam());
  const Descriptor file = open_output(AT_FDCWD, dir / "out").value();
  OutputCap cap(8 * kPage);
  const std::string text = text_of(400 * kPage);
  for (std::size_t at = 0; at < text.size(); at += 20 * kPage) {
    append(file, text.substr(at, 20 * kPage));
    ASSERT_TRUE(cap.enforce(file.get()).ok());
    EXPECT_LE(stored_bytes(dir / "out"), 16 * kPage);
  }
  EXPECT_EQ(hole_of(file.get()).value(), (Hole{.begin = 4 * kPage, .end = 396 * kPage}));
  const std::string left = test::read_file(dir / "out");
  EXPECT_EQ(left.substr(396 * kPage), text.substr(396 * kPage));
  EXPECT_EQ(left.substr(0, 4 * kPage), text.substr(0, 4 * kPage));
}

TEST_P(OutputFile, what_is_freed_once_is_not_freed_again) {
  const test::TempDir dir(GetParam());
  const Descriptor file = open_output(AT_FDCWD, dir / "out").value();
  OutputCap cap(8 * kPage);
  append(file, text_of(50 * kPage));
  ASSERT_TRUE(cap.enforce(file.get()).ok());
  // Written into the hole from aside: a second freeing of the same pages would show.
  const Descriptor aside(::open((dir / "out").c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(::pwrite(aside.get(), "trace", 5, 20 * kPage), 5);
  append(file, text_of(10 * kPage));
  ASSERT_TRUE(cap.enforce(file.get()).ok());
  EXPECT_EQ(test::read_file(dir / "out").substr(20 * kPage, 5), "trace");
}

TEST_P(OutputFile, one_that_was_emptied_and_written_again_is_bounded_too) {
  const test::TempDir dir(GetParam());
  const Descriptor file = open_output(AT_FDCWD, dir / "out").value();
  OutputCap cap(8 * kPage);
  append(file, text_of(50 * kPage));
  ASSERT_TRUE(cap.enforce(file.get()).ok());
  ASSERT_EQ(::ftruncate(file.get(), 0), 0);
  append(file, text_of(30 * kPage));
  ASSERT_TRUE(cap.enforce(file.get()).ok());
  EXPECT_EQ(hole_of(file.get()).value(), (Hole{.begin = 4 * kPage, .end = 26 * kPage}));
}

TEST_P(OutputFile, a_program_appends_while_its_output_is_cut) {
  const test::TempDir dir(GetParam());
  const Descriptor file = open_output(AT_FDCWD, dir / "out").value();
  Command command = shell("i=0; while [ $i -lt 400 ]; do i=$((i+1)); printf '%01000d\\n' $i; done");
  command.output = file.get();
  Process process = started(command);
  OutputCap cap(8 * kPage);
  while (!process.reap().value()) ASSERT_TRUE(cap.enforce(file.get()).ok());
  ASSERT_TRUE(cap.enforce(file.get()).ok());
  const std::string left = test::read_file(dir / "out");
  ASSERT_EQ(left.size(), 400u * 1001);
  EXPECT_TRUE(left.ends_with("0400\n"));
  EXPECT_EQ(hole_of(file.get()).value()->begin, 4 * kPage);
}

TEST(OutputFileLimits, a_hole_may_reach_to_the_end) {
  const test::TempDir dir;
  const Descriptor file = open_output(AT_FDCWD, dir / "out").value();
  append(file, text_of(kPage));
  ASSERT_EQ(::ftruncate(file.get(), 3 * kPage), 0);
  EXPECT_EQ(hole_of(file.get()).value(), (Hole{.begin = kPage, .end = 3 * kPage}));
}

TEST(OutputFileLimits, a_file_system_that_cannot_free_a_part_of_a_file_is_told) {
  // Files of sysfs are a page long. Nothing is written.
  const Descriptor file(
      ::open("/sys/kernel/mm/transparent_hugepage/enabled", O_WRONLY | O_CLOEXEC));
  if (!file.valid()) GTEST_SKIP() << "needs sysfs and the right to write to it";
  EXPECT_EQ(OutputCap(0).enforce(file.get()).code(), Code::unavailable);
}

TEST(OutputFileLimits, without_a_limit_worth_a_page_whole_pages_go) {
  const test::TempDir dir;
  const Descriptor file = open_output(AT_FDCWD, dir / "out").value();
  append(file, text_of(3 * kPage + 1));
  ASSERT_TRUE(OutputCap(0).enforce(file.get()).ok());
  EXPECT_EQ(hole_of(file.get()).value(), (Hole{.begin = 0, .end = 3 * kPage}));
}

}  // namespace
}  // namespace sluice::exec
