// SPDX-License-Identifier: MIT
// verify, backup.
#include <sluice/queue.h>

#include <cstdio>

#include "sluiced/context.h"

namespace sluice::cli {

Result<int> verify(Context& context, const Arguments& /*arguments*/) {
  SLUICE_LET(store, context.open_existing_store());
  SLUICE_LET(report, queue::verify(*store));
  for (const queue::Breach& breach : report.breaches)
    std::printf("%s: %s (%s)\n", breach.invariant.c_str(), breach.what.c_str(), breach.key.c_str());
  std::printf("%s: %llu queues, %llu jobs, %llu keys\n", report.clean() ? "clean" : "damaged",
              static_cast<unsigned long long>(report.queues),
              static_cast<unsigned long long>(report.jobs),
              static_cast<unsigned long long>(report.keys));
  return report.clean() ? 0 : code_info(Code::corrupt).exit_code;
}

Result<int> backup(Context& context, const Arguments& arguments) {
  if (arguments.words().size() != 1)
    return error(Code::invalid_argument, "say where to: sluiced backup DIR");
  const std::string& to = arguments.words().front();
  SLUICE_LET(store, context.open_existing_store());
  SLUICE_TRY(store->copy_to(to));
  std::printf("copied to %s\n", to.c_str());
  return 0;
}

}  // namespace sluice::cli
