// SPDX-License-Identifier: MIT
#include <sluice/result.h>

#include <array>

#include "base/check.h"

namespace sluice {
namespace {

constexpr std::array<CodeInfo, kCodeCount> kCodes = {{
    {Code::ok, "ok", Retry::never, 200, 0, "Nothing to do."},
    {Code::invalid_argument, "invalid_argument", Retry::never, 400, 2,
     "Correct the call: it fails the same way every time."},
    {Code::not_found, "not_found", Retry::never, 404, 3, "Check the name, or list what is there."},
    {Code::already_exists, "already_exists", Retry::never, 409, 4,
     "Choose another name, or use what is there."},
    {Code::permission_denied, "permission_denied", Retry::never, 403, 1,
     "Use a credential or an account that may do this."},
    {Code::lease_lost, "lease_lost", Retry::never, 409, 4,
     "Stop working on this job: it has been given to another worker, or ended."},
    {Code::conflict, "conflict", Retry::at_once, 409, 4,
     "Nothing happened. Look at the present state, then try again."},
    {Code::limit_exceeded, "limit_exceeded", Retry::later, 429, 1,
     "Wait and try again, or raise the limit."},
    {Code::storage_full, "storage_full", Retry::when_roomy, 507, 5,
     "Make room (finish, cancel or purge jobs, free disk space), then try again."},
    {Code::unavailable, "unavailable", Retry::later, 503, 5, "Try again in a moment."},
    {Code::deadline_exceeded, "deadline_exceeded", Retry::later, 504, 124,
     "Try again with less work at once, or with more time."},
    {Code::cancelled, "cancelled", Retry::never, 499, 130, "Nothing to do: it was asked to stop."},
    {Code::commit_unknown, "commit_unknown", Retry::same_op_id, 500, 1,
     "It may have happened: repeat it with the same operation id, or look."},
    {Code::corrupt, "corrupt", Retry::never, 500, 5,
     "Run verify, then restore from a backup what it names."},
    {Code::io_error, "io_error", Retry::after_reopen, 500, 5,
     "Find the fault in the system log, then restart the program."},
}};

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < kCodes.size(); ++i)
    if (static_cast<std::size_t>(kCodes[i].code) != i) return false;
  return true;
}
static_assert(rows_are_in_order(), "code_info() indexes the table by code");

}  // namespace

const CodeInfo& code_info(Code code) {
  return kCodes.at(static_cast<std::size_t>(code));
}

Status::Status(Code code, std::string message) : code_(code), message_(std::move(message)) {
  SLUICE_CHECK(code != Code::ok);
}

Status Status::with(std::string_view doing, std::string_view what) const {
  if (ok()) return *this;
  std::string message(doing);
  if (!what.empty()) message.append(" ").append(what);
  return Status(code_, message.append(": ").append(message_));
}

std::string Status::to_string() const {
  if (ok()) return "ok";
  return std::string(code_name(code_)).append(": ").append(message_);
}

}  // namespace sluice
