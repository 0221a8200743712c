// SPDX-License-Identifier: MIT
// The live view.
#include <poll.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/descriptor.h"
#include "cli/duration.h"
#include "cli/output.h"
#include "cli/size.h"
#include "cli/table.h"
#include "cli/time.h"
#include "cli/visible.h"
#include "queuectl/commands/commands.h"
#include "queuectl/context.h"
#include "queuectl/jobs.h"

namespace sluice::cli {
namespace {

/// The terminal as a full screen without echo; as it was, when this goes.
class Screen {
 public:
  Screen() {
    if (tcgetattr(0, &before_) == 0) {
      termios raw = before_;
      raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      restore_ = tcsetattr(0, TCSANOW, &raw) == 0;
    }
    write_all(1, "\x1b[?1049h\x1b[?25l");
  }
  ~Screen() {
    write_all(1, "\x1b[?25h\x1b[?1049l");
    if (restore_) tcsetattr(0, TCSANOW, &before_);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  /// Draws over what was there, without a flicker: each line erases the rest of its own.
  static void draw(const std::string& text, std::size_t rows) {
    std::string out = "\x1b[H";
    std::size_t row = 0;
    for (std::size_t at = 0; at < text.size() && row < rows; ++row) {
      const auto end = std::min(text.find('\n', at), text.size());
      out.append(row == 0 ? "" : "\r\n").append(text, at, end - at).append("\x1b[K");
      at = end + 1;
    }
    write_all(1, out + "\x1b[J");
  }

 private:
  termios before_{};
  bool restore_ = false;
};

void count_lines(std::string& text, const std::vector<std::pair<std::string, StateCounts>>& all,
                 const Look& look) {
  Table table{.columns = {{.title = "QUEUE", .may_cut = true, .width_min = 6}}, .rows = {}};
  for (std::size_t i = 0; i < kStateCount; ++i)
    table.columns.push_back({.title = std::string(state_name(static_cast<State>(i))),
                             .align = Align::right,
                             .priority = static_cast<unsigned>(i)});
  for (const auto& [name, counts] : all) {
    std::vector<Cell> row{{name}};
    for (std::size_t i = 0; i < kStateCount; ++i)
      row.push_back({format_count(counts[i]),
                     counts[i] > 0 ? state_style(static_cast<State>(i)) : Style::dim});
    table.rows.push_back(std::move(row));
  }
  text += render(table, look);
}

/// Jobs of one state, in so many lines at most: an empty one, the titles, a job in each.
Status job_lines(std::string& text, queue::Queues& queues, const std::string& queue, State state,
                 std::size_t lines_max, const Look& look) {
  if (lines_max < 3) return {};
  Table table{
      .columns = {{.title = std::string(state_name(state)), .may_cut = true, .width_min = 8},
                  {.title = "run", .align = Align::right},
                  {.title = "for", .align = Align::right},
                  {.title = "command", .may_cut = true},
                  {.title = "worker", .priority = 1}},
      .rows = {}};
  const WallTime now = queues.store().now();
  SLUICE_TRY(each_job(queues, {.queue = queue, .states = {state}, .limit = lines_max - 2},
                      [&](JobView& view) -> Result<bool> {
                        table.rows.push_back({{view.job.id, state_style(state)},
                                              {std::to_string(view.job.attempts) + "/" +
                                               std::to_string(view.max_retries())},
                                              {format_duration(now - view.updated()), Style::dim},
                                              {view.line()},
                                              {short_worker(view.job.worker), Style::dim}});
                        return true;
                      }));
  if (!table.rows.empty()) text += "\n" + render(table, look);
  return {};
}

Result<std::string> picture(Context& context, const std::string& queue, const Extent& extent) {
  SLUICE_LET(queues, context.queues());
  const Look look{
      .colour = context.out().colour, .width = extent.columns, .unicode = context.out().unicode};
  SLUICE_LET(workers, live_workers(context));
  std::uint64_t alive = 0;
  std::uint64_t slots = 0;
  for (const worker::LiveWorker& one : workers)
    if (one.alive) {
      ++alive;
      slots += one.worker.slots;
    }
  std::string text = cut("queuectl  " + format_time(queues->store().now()).substr(11, 8) + "  " +
                             plural(alive, "worker") + ", " + plural(slots, "slot") + "  q: quit",
                         extent.columns) +
                     "\n\n";
  std::vector<std::pair<std::string, StateCounts>> all;
  SLUICE_LET(listed, queues->list_queues());
  for (const queue::Queue& one : listed) {
    SLUICE_LET(counts, count_states(*queues, one.name));
    all.emplace_back(one.name + (one.paused ? " (paused)" : ""), counts);
  }
  count_lines(text, all, look);
  // What one state does not need is for those below it.
  constexpr std::pair<State, std::size_t> kShares[] = {
      {State::processing, 2}, {State::failed, 3}, {State::pending, 2}, {State::dead, 1}};
  for (const auto& [state, share] : kShares) {
    const auto used = static_cast<std::size_t>(std::ranges::count(text, '\n'));
    const std::size_t left = extent.rows > used ? extent.rows - used : 0;
    SLUICE_TRY(job_lines(text, *queues, queue, state, left / share, look));
  }
  return text;
}

Result<int> top(Context& context, const Arguments& arguments) {
  SLUICE_LET(interval, arguments.duration("--interval"));
  const Duration period = std::max(interval.value_or(std::chrono::seconds(1)),
                                   Duration(std::chrono::milliseconds(100)));
  const std::string queue = queue_of(arguments);
  if (!context.out().is_terminal || arguments.has("--once")) {
    SLUICE_LET(text, picture(context, queue, context.out().extent));
    context.print(text);
    return kOk;
  }
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) sigaddset(&set, number);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  const Descriptor signals(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  SLUICE_TRY(context.queues());
  const Screen screen;
  for (;;) {
    const Extent extent = inspect(1, ColourMode::automatic, context.environment()).extent;
    SLUICE_LET(text, picture(context, queue, extent));
    Screen::draw(text, extent.rows);
    pollfd fds[] = {{0, POLLIN, 0}, {signals.get(), POLLIN, 0}};
    poll(fds, 2, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(period).count()));
    signalfd_siginfo info{};
    while (read(signals.get(), &info, sizeof info) == sizeof info)
      if (info.ssi_signo != SIGWINCH) return 128 + static_cast<int>(info.ssi_signo);
    char key = 0;
    if ((fds[0].revents & (POLLIN | POLLHUP)) != 0 && (read(0, &key, 1) <= 0 || key == 'q'))
      return kOk;
  }
}

}  // namespace

std::vector<Command> top_commands() {
  return {{.name = "top",
           .alias = "",
           .arguments = "",
           .summary = "watch queues, running jobs and workers, live",
           .details = "Keys: q quits. In a pipe it prints once.",
           .options = {{"--queue", 'Q', "NAME", "whose jobs; default: default", Takes::queue},
                       {"--interval", 'i', "TIME", "how often to look; default 1s", Takes::text},
                       {"--once", 0, "", "print once and end", Takes::nothing}},
           .takes = Takes::nothing,
           .run = top}};
}

}  // namespace sluice::cli
