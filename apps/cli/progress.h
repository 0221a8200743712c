// SPDX-License-Identifier: MIT
// One line that tells how far something has come, how fast it goes and how long it will take.
#pragma once

#include <sluice/clock.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::cli {

struct ProgressState {
  std::string label;
  std::uint64_t done = 0;
  std::optional<std::uint64_t> total;  ///< Nothing: unknown.
  std::optional<double> per_second;    ///< Nothing: unknown as yet.
};

/// "enqueue [#####-----] 51,200/100,000 51%  84,211/s  ETA 1s", at most `width` columns: the bar
/// takes what is left, from 10 to 40 columns. Where there is less, the bar, then the rate, then the
/// label, then the ETA, then the count is left out. Without a total: "enqueue 51,200  84,211/s".
/// 100% means that nothing is left to do; more done than the total is shown as it is. Pure.
std::string line(const ProgressState& state, std::size_t width);

/// A mean rate that forgets: what happened kRateMemory ago weighs 1/e of what happens now.
inline constexpr Duration kRateMemory = std::chrono::seconds(3);
class RateMeter {
 public:
  /// `done` so far, at `now`. The first call only starts the count. A call at the time of the last
  /// one, or before it, is passed over; a `done` that falls counts as standing still.
  void add(std::uint64_t done, MonoTime now);
  /// Nothing until two calls of add() were some time apart.
  std::optional<double> per_second() const { return per_second_; }

 private:
  struct Sample {
    std::uint64_t done;
    MonoTime at;
  };
  std::optional<Sample> last_;
  std::optional<double> per_second_;
};

/// At most ten times a second.
inline constexpr Duration kRedrawInterval = std::chrono::milliseconds(100);

/// Draws line() again and again in the same line of a terminal, by writing "\r", the line and the
/// code that erases the rest. update() may be called as often as one likes: it costs one reading of
/// the clock, and draws at most every kRedrawInterval. One thread. `clock` and whatever `sink` uses
/// must outlive it. An unfinished bar erases itself when it dies, so that a message can follow.
class ProgressBar {
 public:
  using Sink = std::function<void(std::string_view)>;
  struct Options {
    std::string label;
    std::optional<std::uint64_t> total;
    std::size_t width = 80;  ///< Of the terminal; the last column stays free.
  };

  ProgressBar(const Clock& clock, Sink sink, Options options);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// `done` so far, in all. After finish() without effect.
  void update(std::uint64_t done);
  /// Erases the line, if one is drawn, so that something else can be written; the next update()
  /// draws again at once.
  void clear();
  /// Draws the last state, with the mean rate of the whole time, and ends the line. The second call
  /// has no effect.
  void finish();

 private:
  void draw(std::optional<double> per_second, std::string_view end);

  const Clock& clock_;
  Sink sink_;
  Options options_;
  MonoTime started_;
  std::optional<MonoTime> drawn_at_;
  bool on_screen_ = false;
  bool finished_ = false;
  std::uint64_t done_ = 0;
  RateMeter rate_;
};

}  // namespace sluice::cli
