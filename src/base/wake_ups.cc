// SPDX-License-Identifier: MIT
#include "base/wake_ups.h"

#include <utility>

namespace sluice {
namespace {

alignas(8) thread_local WakeUps* t_current = nullptr;

}  // namespace

WakeUps::WakeUps() : outermost_(t_current == nullptr) {
  if (outermost_) t_current = this;
}

WakeUps::~WakeUps() {
  if (!outermost_) return;
  t_current = nullptr;
  for (const auto& wake_up : put_off_) wake_up();
}

void WakeUps::make(std::function<void()> wake_up) {
  if (t_current == nullptr) return wake_up();
  t_current->put_off_.push_back(std::move(wake_up));
}

}  // namespace sluice
