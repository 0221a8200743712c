// SPDX-License-Identifier: MIT
#include "worker/report.h"

#include <gtest/gtest.h>

#include <csignal>

namespace sluice::worker {
namespace {

using std::chrono::milliseconds;

TEST(Report, what_a_person_reads_first) {
  EXPECT_EQ(headline({.exit_code = 3}), "exit code 3");
  EXPECT_EQ(headline({.exit_code = 137, .signal = SIGKILL}), "killed by signal 9 (SIGKILL)");
  EXPECT_EQ(headline({.exit_code = 143, .signal = SIGTERM, .timed_out = true}),
            "timed out: killed by signal 15 (SIGTERM)");
  EXPECT_EQ(headline({.exit_code = 127, .problem = "x: not found"}), "exit code 127: x: not found");
  EXPECT_EQ(headline({.problem = "the worker died"}), "the worker died");
}

TEST(Report, is_read_as_it_was_written) {
  const Report reports[] = {
      {.exit_code = 0,
       .wall = milliseconds(1'250),
       .user = milliseconds(210),
       .system = milliseconds(20),
       .rss_bytes = 12'345 * 1024,
       .output_bytes = 99},
      {.exit_code = 137, .signal = SIGKILL, .timed_out = true},
      {.exit_code = 127, .problem = "nosuch: command not found: really"},
      {.problem = "the worker vm-1 died"},
  };
  for (const Report& report : reports) {
    const Report read = parse_report(to_text(report));
    EXPECT_EQ(to_text(read), to_text(report));
    EXPECT_EQ(read.exit_code, report.exit_code);
    EXPECT_EQ(read.signal, report.signal);
    EXPECT_EQ(read.timed_out, report.timed_out);
    EXPECT_EQ(read.problem, report.problem);
    EXPECT_EQ(read.wall, report.wall);
    EXPECT_EQ(read.rss_bytes, report.rss_bytes);
    EXPECT_EQ(read.output_bytes, report.output_bytes);
    EXPECT_EQ(read.succeeded(), report.succeeded());
  }
}

TEST(Report, any_other_text_is_a_problem) {
  for (const char* text : {"", "boom", "exit code x", "killed by nobody", "a\nb"}) {
    EXPECT_FALSE(parse_report(text).succeeded()) << text;
    EXPECT_FALSE(parse_report(text).exit_code) << text;
  }
}

TEST(Report, signals_have_names) {
  EXPECT_EQ(signal_name(SIGTERM), "SIGTERM");
  EXPECT_EQ(signal_name(64), "signal 64");
}

}  // namespace
}  // namespace sluice::worker
