// SPDX-License-Identifier: MIT
#include "cli/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <map>
#include <string>

namespace sluice::cli {
namespace {

Environment variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) -> std::optional<std::string> {
    const auto found = values.find(name);
    if (found == values.end()) return std::nullopt;
    return found->second;
  };
}

TEST(ColourMode, is_one_of_three_words) {
  EXPECT_EQ(parse_colour_mode("auto"), ColourMode::automatic);
  EXPECT_EQ(parse_colour_mode("always"), ColourMode::always);
  EXPECT_EQ(parse_colour_mode("never"), ColourMode::never);
  for (std::string_view text : {"", "Auto", "yes", "always "}) {
    const Result<ColourMode> mode = parse_colour_mode(text);
    ASSERT_FALSE(mode.has_value()) << text;
    EXPECT_EQ(mode.error().code(), Code::invalid_argument);
  }
  EXPECT_EQ(parse_colour_mode("yes").error().message(),
            "\"yes\" is not a colour mode: write auto, always or never");
}

TEST(UseColour, follows_the_flag_then_the_environment_then_the_terminal) {
  const Environment none = variables({});
  const Environment no_color = variables({{"NO_COLOR", "1"}, {"TERM", "xterm"}});
  const Environment empty = variables({{"NO_COLOR", ""}, {"TERM", "xterm"}});
  const Environment dumb = variables({{"TERM", "dumb"}});
  const struct {
    ColourMode mode;
    bool is_terminal;
    const Environment& environment;
    bool expected;
  } rows[] = {
      {ColourMode::automatic, true, none, true},      {ColourMode::automatic, false, none, false},
      {ColourMode::automatic, true, no_color, false}, {ColourMode::automatic, true, empty, true},
      {ColourMode::automatic, true, dumb, false},     {ColourMode::always, false, none, true},
      {ColourMode::always, true, no_color, true},     {ColourMode::always, false, dumb, true},
      {ColourMode::never, true, none, false},         {ColourMode::never, false, none, false}};
  for (const auto& row : rows) {
    EXPECT_EQ(use_colour(row.mode, row.is_terminal, row.environment), row.expected)
        << "row " << &row - rows;
  }
}

TEST(UseUnicode, is_said_by_the_first_variable_that_is_not_empty) {
  const struct {
    std::map<std::string, std::string> values;
    bool expected;
  } rows[] = {{{}, false},
              {{{"LANG", "de_DE.UTF-8"}}, true},
              {{{"LANG", "C.utf8"}}, true},
              {{{"LANG", "C"}}, false},
              {{{"LANG", "de_DE.ISO-8859-1"}}, false},
              {{{"LC_ALL", "C"}, {"LANG", "C.UTF-8"}}, false},
              {{{"LC_ALL", ""}, {"LANG", "C.UTF-8"}}, true},
              {{{"LC_CTYPE", "C.UTF-8"}, {"LANG", "C"}}, true},
              {{{"LC_ALL", "C.UTF-8"}, {"LC_CTYPE", "C"}}, true}};
  for (const auto& row : rows) {
    EXPECT_EQ(use_unicode(variables(row.values)), row.expected) << "row " << &row - rows;
  }
}

TEST(TerminalExtent, the_kernel_then_the_environment_then_80_by_24) {
  const auto columns = [](const char* value) {
    return terminal_extent({.columns = 0, .rows = 0}, variables({{"COLUMNS", value}})).columns;
  };
  EXPECT_EQ(terminal_extent({.columns = 0, .rows = 0}, variables({})), (Extent{80, 24}));
  EXPECT_EQ(
      terminal_extent({.columns = 0, .rows = 0}, variables({{"COLUMNS", "132"}, {"LINES", "50"}})),
      (Extent{132, 50}));
  EXPECT_EQ(terminal_extent({.columns = 60, .rows = 10},
                            variables({{"COLUMNS", "132"}, {"LINES", "50"}})),
            (Extent{60, 10}));
  EXPECT_EQ(columns("1"), 1u);
  EXPECT_EQ(columns("10000"), kExtentMax);
  for (const char* bad : {"", "0", "10001", "-5", "90x", "x", " 90", "99999999999999999999999"}) {
    EXPECT_EQ(columns(bad), 80u) << bad;
  }
}

TEST(LookOf, a_terminal_has_a_width_and_a_pipe_has_none) {
  const Look terminal =
      look_of({.is_terminal = true, .extent = {60, 20}, .colour = true, .unicode = true});
  EXPECT_EQ(terminal.width, 60u);
  EXPECT_TRUE(terminal.colour && terminal.unicode);
  const Look pipe =
      look_of({.is_terminal = false, .extent = {60, 20}, .colour = false, .unicode = false});
  EXPECT_EQ(pipe.width, std::nullopt);
  EXPECT_FALSE(pipe.colour || pipe.unicode);
}

TEST(LookOf, colours_asked_for_in_a_pipe_come_without_cutting) {
  const Look look = look_of({.is_terminal = false, .extent = {}, .colour = true, .unicode = true});
  EXPECT_EQ(look.width, kWidthUnlimited);
  EXPECT_EQ(paint("x", Style::red, look), "\x1b[31mx\x1b[0m");
}

TEST(Inspect, a_pipe_and_a_closed_file_are_no_terminals) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Environment environment = variables({{"COLUMNS", "60"}, {"LANG", "C.UTF-8"}});
  const Terminal found = inspect(ends[1], ColourMode::automatic, environment);
  EXPECT_FALSE(found.is_terminal || found.colour);
  EXPECT_TRUE(found.unicode);
  EXPECT_EQ(found.extent, (Extent{60, 24}));
  EXPECT_TRUE(inspect(ends[1], ColourMode::always, environment).colour);
  close(ends[0]);
  close(ends[1]);
  EXPECT_FALSE(inspect(-1, ColourMode::automatic, environment).is_terminal);
}

TEST(Inspect, a_terminal_tells_its_size) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
    GTEST_SKIP() << "no pseudoterminals here";
  }
  const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
  ASSERT_GE(slave, 0);
  winsize size{};
  size.ws_col = 61;
  size.ws_row = 17;
  ASSERT_EQ(ioctl(slave, TIOCSWINSZ, &size), 0);
  const Terminal found = inspect(slave, ColourMode::automatic, variables({{"COLUMNS", "99"}}));
  EXPECT_TRUE(found.is_terminal && found.colour);
  EXPECT_EQ(found.extent, (Extent{61, 17}));
  close(slave);
  close(master);
}

TEST(ProcessEnvironment, has_what_is_set_and_nothing_else) {
  ASSERT_EQ(setenv("QUEUECTL_TEXT_TEST", "yes", 1), 0);
  EXPECT_EQ(process_environment()("QUEUECTL_TEXT_TEST"), "yes");
  ASSERT_EQ(unsetenv("QUEUECTL_TEXT_TEST"), 0);
  EXPECT_EQ(process_environment()("QUEUECTL_TEXT_TEST"), std::nullopt);
}

}  // namespace
}  // namespace sluice::cli
