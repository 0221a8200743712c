// SPDX-License-Identifier: MIT
#include "queue/agenda.h"

#include <algorithm>

#include "queue/after.h"
#include "queue/batch.h"
#include "queue/schedule.h"
#include "queue/unique.h"

namespace sluice::queue {
namespace {

class Agenda {
 public:
  Agenda(Steps& steps, QueueState& queue, std::size_t steps_max)
      : steps_(steps), queue_(queue), steps_max_(steps_max) {}

  Status run() {
    SLUICE_LET(entries,
               steps_.txn().scan(queue_.keys.agenda_until(steps_.now()),
                                 {.limit = steps_max_, .isolation = kv::Isolation::snapshot}));
    for (const auto& entry : entries) {
      if (work.total() >= steps_max_) break;
      // Conflictingly, so that of several processes one does it.
      SLUICE_LET(value, steps_.txn().get(entry.key));
      if (!value) continue;
      SLUICE_LET(parsed, read_agenda_key(entry.key));
      SLUICE_LET(through, work_on(parsed, *value));
      if (through) steps_.txn().erase(entry.key);
    }
    return {};
  }

  AgendaWork work;

 private:
  /// Whether that is done with.
  Result<bool> work_on(const AgendaEntry& entry, const std::string& value) {
    const std::size_t left = steps_max_ - std::min(steps_max_, work.total());
    switch (entry.errand) {
      case Errand::fire: {
        SLUICE_LET(fired, fire_schedule(steps_, queue_, entry.subject, entry.at));
        ++(fired ? work.fired : work.others);
        return fired;
      }
      case Errand::release: {
        SLUICE_LET(release, decode_release(queue_, entry.subject, value));
        const auto through = settle_some(steps_, release, left, work.released);
        ++work.others;
        return through;
      }
      case Errand::drop: {
        ++work.others;
        return drop_members(steps_, queue_, entry.subject, left, work.batches);
      }
      case Errand::check: {
        ++work.batches;
        SLUICE_LET(batch, find_batch(steps_, queue_, entry.subject));
        if (batch != nullptr) batch->look = true;
        return true;
      }
      case Errand::free:
        ++work.others;
        SLUICE_TRY(free_key(steps_, queue_, entry.subject, entry.at));
        return true;
      case Errand::forget:
        ++work.others;
        SLUICE_TRY(forget_batch(steps_, queue_, entry.subject));
        return true;
    }
    return true;
  }

  Steps& steps_;
  QueueState& queue_;
  const std::size_t steps_max_;
};

}  // namespace

Result<AgendaEntry> read_agenda_key(std::string_view key) {
  SLUICE_LET(reader, read_key(key, Space::agenda));
  SLUICE_TRY(reader.mark());
  SLUICE_LET(at, reader.number<Millis>());
  SLUICE_LET(errand, reader.number<std::uint8_t>());
  SLUICE_LET(subject, reader.string());
  SLUICE_TRY(reader.finish());
  if (errand < 1 || errand > 6) return error(Code::corrupt, "an errand of the agenda is unknown");
  return AgendaEntry{.at = at, .errand = static_cast<Errand>(errand), .subject = subject};
}

Result<AgendaWork> work_agenda(Steps& steps, QueueState& queue, std::size_t steps_max) {
  if (steps_max == 0) return AgendaWork{};
  Agenda agenda(steps, queue, steps_max);
  SLUICE_TRY(agenda.run());
  return agenda.work;
}

Result<std::optional<Millis>> next_errand(kv::Reader& reader, const Keys& keys) {
  std::optional<Millis> next;
  SLUICE_LET(first, reader.scan(keys.all(Space::agenda),
                                {.limit = 1, .isolation = kv::Isolation::snapshot}));
  if (first.empty()) return next;
  SLUICE_LET(entry, read_agenda_key(first[0].key));
  next = entry.at;
  return next;
}

}  // namespace sluice::queue
