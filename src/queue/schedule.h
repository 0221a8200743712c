// SPDX-License-Identifier: MIT
// Schedules: jobs by the calendar (docs/design/flows.md). The calendar itself is cron.h.
#pragma once

#include <sluice/flow.h>
#include <sluice/result.h>

#include <string>
#include <string_view>

#include "queue/steps.h"

namespace sluice::queue {

Status put_schedule(Steps& steps, const NewSchedule& schedule);
Status set_schedule_paused(Steps& steps, std::string_view queue, std::string_view name,
                           bool paused);
Result<std::string> run_schedule(Steps& steps, std::string_view queue, std::string_view name);
Status remove_schedule(Steps& steps, std::string_view queue, std::string_view name);

/// From the agenda: the planned time `at` has come. Whether that is done with; if not, the next
/// transaction can do it.
Result<bool> fire_schedule(Steps& steps, QueueState& queue, std::string_view name, Millis at);

Failure no_such_schedule(std::string_view queue, std::string_view name);
/// A schedule as callers see it.
Schedule to_schedule(std::string_view queue, const ScheduleRecord& record);

}  // namespace sluice::queue
