// SPDX-License-Identifier: MIT
// Work inside one process, by priority and after a delay.
#include <sluice/runtime.h>

#include <iostream>
#include <string>

using namespace std::chrono_literals;
using namespace sluice;

int main() {
  runtime::DelayQueue<std::string> reports({.name = "reports", .items_max = 4});
  const auto enqueue = [&](const std::string& report, const runtime::EnqueueOptions& options) {
    const auto handle = reports.enqueue(report, options);
    if (!handle) std::cout << report << ": " << handle.error().to_string() << "\n";
    return handle ? *handle : runtime::Handle();
  };
  enqueue("the usual", {});
  enqueue("tried again in 20 ms", {.delay = 20ms});
  const runtime::Handle mistaken = enqueue("a mistake", {.label = "low"});
  enqueue("an odd one", {.label = "high", .correlation_id = "request-7"});
  enqueue("one too many", {});

  reports.cancel(mistaken);
  // Waits for what is ready, or becomes so: exactly until then.
  for (int i = 0; i < 3; ++i) {
    const auto item = reports.dequeue(5s);
    std::cout << item->label << " " << item->priority << ": " << item->value << "\n";
  }
  enqueue("tomorrow's", {.delay = 24h});
  for (const auto& item : reports.shut_down()) std::cout << "handed back: " << item.value << "\n";
}
