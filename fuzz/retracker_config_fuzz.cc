// SPDX-License-Identifier: MIT
// What people write for retracker: a list of forwarders, or the value of a setting that the first
// byte chooses.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "base/check.h"
#include "retracker/forwarders.h"
#include "retracker/settings.h"

namespace {

using namespace sluice;

void read_list(const std::string& text) {
  const auto found = cli::parse_forwarders(text, "f");
  if (!found) return;
  std::set<std::string> names;
  for (const tracker::UpstreamConfig& one : found->forwarders) {
    SLUICE_CHECK(!one.uri.empty());
    SLUICE_CHECK(!one.name.empty());
    SLUICE_CHECK(names.insert(one.name).second);
  }
}

/// What is shown is understood again, as the same.
void read_setting(const cli::Setting& setting, const std::string& text) {
  cli::Settings settings;
  if (!setting.set(settings, text).ok()) return;
  const std::string shown = setting.show(settings);
  cli::Settings again;
  SLUICE_CHECK(setting.set(again, shown).ok());
  SLUICE_CHECK(setting.show(again) == shown);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  const auto settings = cli::all_settings();
  if (data[0] < settings.size())
    read_setting(settings[data[0]], text);
  else
    read_list(text);
  return 0;
}
