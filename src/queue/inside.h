// SPDX-License-Identifier: MIT
// The insides of a Queues object.
#pragma once

#include <sluice/queue.h>

#include "queue/claim_desk.h"
#include "queue/shared.h"

namespace sluice::queue {

struct Queues::Inside {
  Inside(kv::Store& store, Random* random, ClaimDesk::Serve serve)
      : shared(store, random), desk(std::move(serve)) {}

  Shared shared;
  ClaimDesk desk;
};

}  // namespace sluice::queue
