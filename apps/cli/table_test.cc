// SPDX-License-Identifier: MIT
#include "cli/table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "cli/table_fit.h"
#include "cli/visible.h"

namespace sluice::cli {
namespace {

const Look kPipe;

Look terminal(std::size_t width) {
  return {.colour = false, .width = width, .unicode = true};
}

// As `queuectl list` may show it.
Table jobs() {
  return {.columns = {{.title = "ID"},
                      {.title = "STATE"},
                      {.title = "TRIES", .align = Align::right, .priority = 2},
                      {.title = "COMMAND", .may_cut = true},
                      {.title = "QUEUE", .may_cut = true, .priority = 1, .width_min = 8},
                      {.title = "CREATED", .align = Align::right, .priority = 3}},
          .rows = {{{"job-1"},
                    {"completed", Style::green},
                    {"1/3"},
                    {"convert --resize 800x600 holiday-2026-001.png"},
                    {"images"},
                    {"12s ago", Style::dim}},
                   {{"job-22"},
                    {"dead", Style::red},
                    {"3/3"},
                    {"curl -fsS https://example.org/a"},
                    {"default"},
                    {"2h ago", Style::dim}}}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    EXPECT_NE(end, std::string::npos) << "no line end";
    if (end == std::string::npos) break;
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

Table one_cell(std::string text) {
  return {.columns = {{.title = "A"}}, .rows = {{{std::move(text)}}}};
}

TEST(Table, into_a_pipe_everything_is_aligned_and_nothing_cut) {
  const std::string expected =
      "ID      STATE      TRIES  COMMAND                                        QUEUE    CREATED\n"
      "job-1   completed    1/3  convert --resize 800x600 holiday-2026-001.png  images   12s ago\n"
      "job-22  dead         3/3  curl -fsS https://example.org/a                default   2h ago\n";
  EXPECT_EQ(render(jobs(), kPipe), expected);
  EXPECT_EQ(render(jobs(), {.colour = true, .width = std::nullopt, .unicode = false}), expected);
  EXPECT_EQ(render(jobs(), terminal(kWidthUnlimited)), expected);
}

TEST(Table, a_terminal_of_exactly_its_width_shows_all_and_of_one_less_cuts) {
  const std::string all = render(jobs(), kPipe);
  const std::size_t width = lines_of(all)[0].size();
  EXPECT_EQ(render(jobs(), terminal(width)), all);
  EXPECT_EQ(lines_of(render(jobs(), terminal(width - 1)))[1],
            "job-1   completed    1/3  convert --resize 800x600 holiday-2026-001.p…  images   "
            "12s ago");
}

TEST(Table, a_terminal_of_60_columns) {
  EXPECT_EQ(render(jobs(), terminal(60)),
            "ID      STATE      TRIES  COMMAND           QUEUE    CREATED\n"
            "job-1   completed    1/3  convert --resiz…  images   12s ago\n"
            "job-22  dead         3/3  curl -fsS https…  default   2h ago\n");
}

TEST(Table, columns_are_dropped_by_priority_as_the_terminal_narrows) {
  const auto header = [](std::size_t width) {
    return lines_of(render(jobs(), terminal(width)))[0];
  };
  EXPECT_EQ(header(56), "ID      STATE      TRIES  COMMAND       QUEUE    CREATED");
  EXPECT_EQ(header(55), "ID      STATE      TRIES  COMMAND               QUEUE");
  EXPECT_EQ(header(47), "ID      STATE      TRIES  COMMAND       QUEUE");
  EXPECT_EQ(header(46), "ID      STATE      COMMAND             QUEUE");
  EXPECT_EQ(header(39), "ID      STATE      COMMAND");
  EXPECT_EQ(header(31), "ID      STATE      COMMAND");
}

TEST(Table, a_terminal_of_20_columns) {
  EXPECT_EQ(render(jobs(), terminal(20)),
            "ID      STATE  COMM…\n"
            "job-1   comp…  conv…\n"
            "job-22  dead   curl…\n");
}

TEST(Table, of_equal_priority_the_last_column_goes_first) {
  const Table table{.columns = {{.title = "AAAA", .priority = 1},
                                {.title = "BBBB"},
                                {.title = "CCCC", .priority = 1}},
                    .rows = {}};
  EXPECT_EQ(render(table, terminal(16)), "AAAA  BBBB  CCCC\n");
  EXPECT_EQ(render(table, terminal(15)), "AAAA  BBBB\n");
  EXPECT_EQ(render(table, terminal(9)), "BBBB\n");
}

TEST(Table, columns_that_may_be_cut_share_what_the_others_leave) {
  const auto widths = [](std::size_t width) {
    const std::vector<Column> columns = {{.title = "A"},
                                         {.title = "B", .may_cut = true, .width_min = 5},
                                         {.title = "C", .may_cut = true, .width_min = 5},
                                         {.title = "D", .may_cut = true, .width_min = 5}};
    const std::vector<NaturalWidth> natural = {{.title = 1, .all = 10},
                                               {.title = 1, .all = 8},
                                               {.title = 1, .all = 40},
                                               {.title = 1, .all = 1'000'000}};
    std::vector<std::size_t> result;
    for (const FittedColumn& column : fit(columns, natural, width)) {
      result.push_back(column.width);
    }
    return result;
  };
  using Widths = std::vector<std::size_t>;
  EXPECT_EQ(widths(84), (Widths{10, 8, 30, 30}));
  EXPECT_EQ(widths(110), (Widths{10, 8, 40, 46}));
  EXPECT_EQ(widths(40), (Widths{10, 8, 8, 8}));
  EXPECT_EQ(widths(31), (Widths{10, 5, 5, 5}));
  EXPECT_EQ(widths(30), (Widths{6, 6, 6, 6}));
}

TEST(Table, colours_are_for_terminals_and_do_not_count_as_width) {
  const Table table{.columns = {{.title = "S"}, {.title = "N", .align = Align::right}},
                    .rows = {{{"ok", Style::green}, {"1", Style::dim}}, {{""}, {"22"}}}};
  const Look look{.colour = true, .width = 6, .unicode = true};
  EXPECT_EQ(render(table, look),
            "\x1b[1mS\x1b[0m    \x1b[1mN\x1b[0m\n"
            "\x1b[32mok\x1b[0m   \x1b[2m1\x1b[0m\n"
            "    22\n");
  EXPECT_EQ(render(table, terminal(6)), "S    N\nok   1\n    22\n");
}

TEST(Table, every_style_has_a_code_of_its_own_and_plain_has_none) {
  const Look look{.colour = true, .width = 80, .unicode = true};
  EXPECT_EQ(paint("x", Style::plain, look), "x");
  EXPECT_EQ(paint("", Style::red, look), "");
  EXPECT_EQ(paint("x", Style::red, kPipe), "x");
  const struct {
    Style style;
    std::string_view code;
  } rows[] = {{Style::dim, "2"},      {Style::bold, "1"},    {Style::red, "31"},
              {Style::green, "32"},   {Style::yellow, "33"}, {Style::blue, "34"},
              {Style::magenta, "35"}, {Style::cyan, "36"}};
  for (const auto& row : rows) {
    EXPECT_EQ(paint("x", row.style, look), "\x1b[" + std::string(row.code) + "mx\x1b[0m");
  }
}

TEST(Table, wide_characters_and_marks_are_counted_in_columns) {
  const Table table{.columns = {{.title = "NAME"}, {.title = "N"}},
                    .rows = {{{"日本"}, {"1"}}, {{"e\u0301te\u0301"}, {"2"}}, {{"👍"}, {"3"}}}};
  EXPECT_EQ(render(table, kPipe),
            "NAME  N\n"
            "日本  1\n"
            "e\u0301te\u0301   2\n"
            "👍    3\n");
}

TEST(Table, a_wide_character_that_would_be_split_leaves_a_blank) {
  const Table table{.columns = {{.title = "A", .may_cut = true, .width_min = 2}, {.title = "B"}},
                    .rows = {{{"日本語"}, {"x"}}}};
  EXPECT_EQ(render(table, terminal(7)), "A     B\n日…   x\n");
}

TEST(Table, hostile_cells_are_shown_and_not_obeyed) {
  for (const Look& look : {kPipe, terminal(60), terminal(5)}) {
    const Table table = one_cell("\x1b[2J\x1b]0;x\x07\r\n\t\xff\xc2\x9b");
    const std::string text = render(table, look);
    EXPECT_EQ(lines_of(text).size(), 2u);
    for (char c : text) EXPECT_TRUE(c == '\n' || c < 0 || c >= ' ') << int{c};
  }
  EXPECT_EQ(render(one_cell("\x1b[31m\n\xff"), kPipe), "A\n\\x1b[31m\\n\\xff\n");
  Table title;
  title.columns = {{.title = "\x1b[31m"}};
  EXPECT_EQ(render(title, kPipe), "\\x1b[31m\n");
}

TEST(Table, a_terminal_without_utf_8_gets_ascii_and_a_pipe_gets_all) {
  const Table table{.columns = {{.title = "A", .may_cut = true}}, .rows = {{{"Grüße an alle"}}}};
  const Look look{.colour = false, .width = 12, .unicode = false};
  EXPECT_EQ(render(table, look), "A\nGr\\u00fc\\...\n");
  EXPECT_EQ(render(table, {.colour = false, .width = std::nullopt, .unicode = false}),
            "A\nGrüße an alle\n");
}

TEST(Table, no_line_ends_in_blanks) {
  const Table table{
      .columns = {{.title = "A"}, {.title = "B"}, {.title = ""}},
      .rows = {{{"1  "}, {"  "}, {""}}, {{"2"}}, {{""}, {" x "}}, {}, {{""}, {""}, {"z"}}}};
  EXPECT_EQ(render(table, kPipe), "A  B\n1\n2\n    x\n\n       z\n");
}

TEST(Table, without_rows_is_its_header_and_without_columns_nothing) {
  EXPECT_EQ(render({.columns = {{.title = "A"}, {.title = "B"}}, .rows = {}}, kPipe), "A  B\n");
  EXPECT_EQ(render({}, kPipe), "");
  EXPECT_EQ(render({}, terminal(0)), "");
}

TEST(Table, with_more_cells_than_columns_stops_the_program) {
  const Table table{.columns = {{.title = "A"}}, .rows = {{{"1"}, {"2"}}}};
  EXPECT_DEATH(render(table, kPipe), "check failed");
}

TEST(Table, is_never_wider_than_the_terminal) {
  for (std::size_t width = 0; width < 120; ++width) {
    for (const std::string& line : lines_of(render(jobs(), terminal(width)))) {
      EXPECT_LE(text_width(line), width);
      EXPECT_FALSE(line.ends_with(' ')) << line;
      EXPECT_TRUE(width == 0 || !line.empty()) << width;
    }
  }
}

RC_GTEST_PROP(Table, fits_whatever_the_cells_are, (const std::vector<std::string>& cells)) {
  Table table;
  table.rows.emplace_back();
  for (const std::string& cell : cells) {
    table.columns.push_back({.title = "T",
                             .align = *rc::gen::element(Align::left, Align::right),
                             .may_cut = *rc::gen::arbitrary<bool>(),
                             .priority = *rc::gen::inRange(0u, 3u),
                             .width_min = *rc::gen::inRange<std::size_t>(0, 20)});
    table.rows[0].push_back({.text = cell});
  }
  const auto width = *rc::gen::inRange<std::size_t>(0, 100);
  for (const std::string& line : lines_of(render(table, terminal(width)))) {
    RC_ASSERT(text_width(line) <= width);
  }
}

}  // namespace
}  // namespace sluice::cli
