// SPDX-License-Identifier: MIT
#include "tests/kv/checked.h"

#include <sstream>

#include "tests/kv/actor_path.h"
#include "tests/kv/notes.h"
#include "tests/support/child.h"

namespace sluice::test {

std::string Checked::to_string() const {
  std::string text;
  for (const std::string& breach : breaches) text += breach + "\n";
  return text;
}

Checked check_in_child(const std::string& dir, const Truth& truth, std::uint64_t more) {
  Child child({actor_path(), "check", dir, encode_truth(truth), std::to_string(more)});
  Checked checked;
  while (auto line = child.read_line()) {
    std::istringstream words(*line);
    std::string what;
    unsigned lane = 0;
    words >> what;
    if (what == "breach") checked.breaches.push_back(*line);
    if (what == "open_us") words >> checked.open_us;
    if (what == "last" && words >> lane) words >> checked.truth[lane].acked;
  }
  const Exit exit = child.wait();
  if (!exit.clean() && checked.clean())
    checked.breaches.push_back("the checker ended with " + exit.to_string());
  return checked;
}

}  // namespace sluice::test
