// SPDX-License-Identifier: MIT
#include "cli/progress.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/duration.h"
#include "cli/size.h"
#include "cli/visible.h"

namespace sluice::cli {
namespace {

constexpr std::size_t kBarMin = 10;
constexpr std::size_t kBarMax = 40;
constexpr std::string_view kEraseToEnd = "\x1b[K";
// Beyond it a guess helps nobody, and conversions might overflow.
constexpr double kEtaSecondsMax = 100.0 * 24 * 3600;
constexpr double kRateMax = 1e15;

// The parts of a line in the order in which they are shown; an empty one is left out.
struct Parts {
  std::string label, bar, count, percent, rate, eta;
};

double fraction_done(std::uint64_t done, std::uint64_t total) {
  if (done >= total) return 1;
  return static_cast<double>(done) / static_cast<double>(total);
}

std::string percent_of(std::uint64_t done, std::uint64_t total) {
  if (done >= total) return "100%";
  // Of large numbers the last that is missing would be rounded away.
  const auto percent = static_cast<std::uint64_t>(fraction_done(done, total) * 100);
  return std::to_string(std::min<std::uint64_t>(percent, 99)) + "%";
}

std::string rate_of(const ProgressState& state) {
  const double rate = state.per_second.value_or(-1);
  if (!(rate >= 0 && rate <= kRateMax)) return "";
  const auto tenths = static_cast<std::uint64_t>(std::llround(rate * 10));
  if (tenths >= 100 || tenths % 10 == 0) {
    return format_count(static_cast<std::uint64_t>(std::llround(rate))) + "/s";
  }
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + "/s";
}

std::string eta_of(const ProgressState& state) {
  const double rate = state.per_second.value_or(0);
  if (!(rate > 0 && rate <= kRateMax)) return "";
  if (!state.total || state.done >= *state.total) return "";
  const double seconds = std::ceil(static_cast<double>(*state.total - state.done) / rate);
  if (!(seconds <= kEtaSecondsMax)) return "";
  return "ETA " + format_duration(std::chrono::seconds(std::llround(seconds)));
}

std::string join(const Parts& parts) {
  std::string text;
  const auto add = [&text](const std::string& part, std::string_view gap) {
    if (!part.empty()) text.append(text.empty() ? "" : gap).append(part);
  };
  add(parts.label, " ");
  add(parts.bar, " ");
  add(parts.count, " ");
  add(parts.percent, " ");
  add(parts.rate, "  ");
  add(parts.eta, "  ");
  return text;
}

// The bar of the largest size that leaves the line within `width`; none if that is too small.
std::string bar_of(const ProgressState& state, const Parts& others, std::size_t width) {
  constexpr std::size_t kFrame = 3;  // Two brackets and the blank beside them.
  const std::size_t taken = text_width(join(others)) + kFrame;
  if (!state.total || width < taken + kBarMin) return "";
  const std::size_t size = std::min(width - taken, kBarMax);
  const double share = fraction_done(state.done, *state.total) * static_cast<double>(size);
  std::size_t full = std::min(static_cast<std::size_t>(share), size);
  if (state.done < *state.total) full = std::min(full, size - 1);
  return "[" + std::string(full, '#') + std::string(size - full, '-') + "]";
}

}  // namespace

std::string line(const ProgressState& state, std::size_t width) {
  Parts parts;
  parts.label = visible(state.label);
  parts.count = format_count(state.done);
  if (state.total) {
    parts.count += "/" + format_count(*state.total);
    parts.percent = percent_of(state.done, *state.total);
  }
  parts.rate = rate_of(state);
  parts.eta = eta_of(state);
  parts.bar = bar_of(state, parts, width);
  for (std::string* dispensable : {&parts.rate, &parts.label, &parts.eta}) {
    if (text_width(join(parts)) > width) dispensable->clear();
  }
  if (!parts.percent.empty() && text_width(join(parts)) > width) parts.count.clear();
  return cut(join(parts), width, Charset::ascii);
}

void RateMeter::add(std::uint64_t done, MonoTime now) {
  if (!last_) {
    last_ = Sample{.done = done, .at = now};
    return;
  }
  if (now <= last_->at) return;
  const double seconds = std::chrono::duration<double>(now - last_->at).count();
  const double gained = done > last_->done ? static_cast<double>(done - last_->done) : 0;
  const double latest = gained / seconds;
  const double memory = std::chrono::duration<double>(kRateMemory).count();
  const double weight = 1 - std::exp(-seconds / memory);
  per_second_ = per_second_ ? *per_second_ + weight * (latest - *per_second_) : latest;
  last_ = Sample{.done = done, .at = now};
}

ProgressBar::ProgressBar(const Clock& clock, Sink sink, Options options)
    : clock_(clock), sink_(std::move(sink)), options_(std::move(options)), started_(clock.mono()) {
  rate_.add(0, started_);
}

ProgressBar::~ProgressBar() {
  clear();
}

void ProgressBar::update(std::uint64_t done) {
  if (finished_) return;
  done_ = done;
  const MonoTime now = clock_.mono();
  if (drawn_at_ && now - *drawn_at_ < kRedrawInterval) return;
  rate_.add(done, now);
  drawn_at_ = now;
  draw(rate_.per_second(), "");
  on_screen_ = true;
}

void ProgressBar::clear() {
  if (!on_screen_) return;
  sink_(std::string("\r").append(kEraseToEnd));
  on_screen_ = false;
  drawn_at_.reset();
}

void ProgressBar::finish() {
  if (finished_) return;
  finished_ = true;
  const double seconds = std::chrono::duration<double>(clock_.mono() - started_).count();
  std::optional<double> mean;
  if (seconds > 0) mean = static_cast<double>(done_) / seconds;
  draw(mean, "\n");
  on_screen_ = false;
}

void ProgressBar::draw(std::optional<double> per_second, std::string_view end) {
  const ProgressState state{
      .label = options_.label, .done = done_, .total = options_.total, .per_second = per_second};
  // In the last column some terminals hold the cursor back on the character just written, and
  // erasing to the end would take that too.
  const std::size_t width = options_.width > 1 ? options_.width - 1 : 1;
  sink_(std::string("\r").append(line(state, width)).append(kEraseToEnd).append(end));
}

}  // namespace sluice::cli
