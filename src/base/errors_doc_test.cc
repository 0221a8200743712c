// SPDX-License-Identifier: MIT
// docs/operations/errors.md says what the table in result.cc says.
#include <gtest/gtest.h>
#include <sluice/result.h>

#include <string>

#include "tests/support/documents.h"

namespace sluice {
namespace {

const char* retry_in_words(Retry retry) {
  switch (retry) {
    case Retry::never:
      return "never";
    case Retry::at_once:
      return "at once";
    case Retry::later:
      return "later";
    case Retry::when_roomy:
      return "when there is room";
    case Retry::same_op_id:
      return "with the same operation id";
    case Retry::after_reopen:
      break;
  }
  return "after reopening";
}

TEST(ErrorsDoc, has_every_code_as_the_table_has_it) {
  const std::string text = test::read_document("operations/errors.md");
  for (std::size_t i = 1; i < kCodeCount; ++i) {
    const CodeInfo& info = code_info(static_cast<Code>(i));
    const std::string row = std::string("| `") + info.name + "` | " + retry_in_words(info.retry) +
                            " | " + std::to_string(info.http_status) + " | " +
                            std::to_string(info.exit_code) + " | " + info.advice + " |\n";
    EXPECT_NE(text.find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace sluice
