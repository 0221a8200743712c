// SPDX-License-Identifier: MIT
// Everything for work inside one process: nothing here outlives it. For jobs that must, there is
// sluice/queue.h; docs/guide/runtime.md says which to take, and how one handler serves both.
#pragma once

#include <sluice/runtime/breaker.h>
#include <sluice/runtime/dedup.h>
#include <sluice/runtime/delay_queue.h>
#include <sluice/runtime/executor.h>
#include <sluice/runtime/handler.h>
#include <sluice/runtime/limiter.h>
#include <sluice/runtime/metrics.h>
#include <sluice/runtime/pool.h>
#include <sluice/runtime/timers.h>
