// SPDX-License-Identifier: MIT
// What goes beyond a single job: batches of jobs with a callback, jobs by the calendar, and the
// stream of what happens. (Unique keys and dependencies are part of a job: sluice/job.h.)
// docs/design/flows.md explains all of it.
#pragma once

#include <sluice/clock.h>
#include <sluice/job.h>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace sluice::queue {

// ---------------------------------------------------------------------------------------- limits

/// The payload of a job that is enqueued later: a batch's callback, a schedule's job.
inline constexpr std::size_t kTemplateBytesMax = 16'000;
inline constexpr std::size_t kCronBytesMax = 256;
/// An ended batch is kept for the queue's done_retention, and at least for this long.
inline constexpr Duration kBatchKept = std::chrono::hours(1);
/// An event is kept until it is this old or this many newer ones of its shard exist, whichever
/// comes first, and goes some time after that.
inline constexpr Duration kEventsKept = std::chrono::hours(1);
inline constexpr std::uint64_t kEventsMax = 10'000;

// --------------------------------------------------------------------------------------- batches

struct BatchRef {
  std::string queue = {};
  std::string id = {};
};

/// Jobs of one queue that belong together (NewJob::batch). When it is sealed and all its jobs are
/// finished, it ends, once and for good, and its callbacks are enqueued in the same transaction.
struct NewBatch {
  std::string queue = {};  ///< Of its jobs. Made with the default settings if it does not exist.
  std::string id = {};     ///< Unique in its queue; empty: a ULID is generated.
  /// Enqueued if every job was acked; not if one is dead or cancelled, or the batch is.
  std::optional<NewJob> on_success = {};
  /// Enqueued however it ended. Callbacks may be of any queue; they have no unique key, no
  /// dependencies and no batch, and the queue's backlog cap does not hold them back.
  std::optional<NewJob> on_end = {};
};

struct Batch {
  std::string queue = {};
  std::string id = {};
  WallTime created = {};
  bool sealed = false;     ///< Takes no more jobs, except from the acks of its own.
  bool cancelled = false;  ///< Its unfinished jobs are being cancelled, or have been.
  std::optional<WallTime> ended = {};
  std::uint64_t total = 0;
  std::uint64_t done = 0;
  std::uint64_t dead = 0;
  std::uint64_t dropped = 0;    ///< Jobs that were cancelled.
  std::string success_id = {};  ///< The callbacks' jobs, once they are enqueued.
  std::string end_id = {};
  std::string error = {};  ///< Why a callback was refused, as when its id was taken.

  std::uint64_t pending() const { return total - done - dead - dropped; }
  bool succeeded() const { return ended && !cancelled && dead == 0 && dropped == 0; }
};

// ------------------------------------------------------------------------------------- schedules

/// A job by the calendar. `cron` has five fields (minute, hour, day of month, month, day of week)
/// or is @hourly, @daily (@midnight), @weekly, @monthly, @yearly (@annually); always UTC.
struct NewSchedule {
  std::string queue = {};
  std::string name = {};  ///< Unique in its queue.
  std::string cron = {};
  /// The job that it enqueues each time, with an id of its own. The queue and the id are left
  /// empty, and so are batch, dependencies, delay and due time. A unique key makes runs skip while
  /// an earlier one is unfinished.
  NewJob job = {};
};

struct Schedule {
  std::string queue = {};
  std::string name = {};
  std::string cron = {};
  NewJob job = {};
  bool paused = false;
  WallTime created = {};
  std::optional<WallTime> next = {};     ///< Planned; nothing while paused.
  std::optional<WallTime> planned = {};  ///< The last planned time that it dealt with.
  std::string last_id = {};              ///< The job that was enqueued last.
  std::uint64_t fired = 0;               ///< Jobs enqueued.
  std::uint64_t skipped = 0;             ///< Runs whose job was refused.
  std::string error = {};                ///< Why the last run was skipped; empty if it was not.
};

// ---------------------------------------------------------------------------------------- events

/// A job's move from lane to lane.
struct Event {
  std::string id = {};
  std::optional<Lane> from = {};  ///< Nothing: it was enqueued.
  Lane to = Lane::ready;          ///< Where it went, also if it is not kept there.
  std::uint32_t attempt = 0;
  WallTime at = {};
  std::string cursor = {};  ///< Follow from here: EventsRequest::after.
};

struct EventsRequest {
  std::string queue = {};
  std::string after = {};   ///< An Event's cursor, or EventPage::next; empty: the oldest there is.
  std::size_t limit = 100;  ///< To kPageMax.
  Duration wait = {};       ///< How long to wait for the first event.
  std::stop_token stop = {};  ///< Ends the wait early.
};

struct EventPage {
  std::vector<Event> events = {};  ///< In the order of the commits.
  std::string next = {};           ///< Pass it as `after` for what follows.
  bool gap = false;  ///< Events after `after` are gone: look at the jobs themselves again.
};

}  // namespace sluice::queue
