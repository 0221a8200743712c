// SPDX-License-Identifier: MIT
#include "sluice-migrate/progress.h"

#include <utility>

#include "cli/output.h"
#include "cli/progress.h"
#include "cli/visible.h"

namespace sluice::cli {

Progress::Progress(const Options& options, Line line) : options_(options), line_(std::move(line)) {
  if (options_.mode == ProgressMode::never) return;
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  const bool always = options_.mode == ProgressMode::always;
  if (always) draw();
  if (!options_.terminal.is_terminal) return;
  write_all(2, always ? "\n" : "\r\x1b[K");
}

void Progress::run(const std::stop_token& stop) {
  const Duration interval = options_.terminal.is_terminal ? kRedrawInterval : kPlainInterval;
  for (;;) {
    options_.clock.sleep_for(interval, stop);
    if (stop.stop_requested()) return;
    draw();
  }
}

void Progress::draw() {
  const std::string text = line_();
  if (!options_.terminal.is_terminal) {
    write_all(2, text + "\n");
    return;
  }
  // The last column stays free: some terminals hold the cursor back on it.
  const std::size_t columns = options_.terminal.extent.columns;
  const auto charset = options_.terminal.unicode ? Charset::utf8 : Charset::ascii;
  write_all(2, "\r" + cut(text, columns > 1 ? columns - 1 : 1, charset) + "\x1b[K");
}

}  // namespace sluice::cli
