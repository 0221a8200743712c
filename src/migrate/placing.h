// SPDX-License-Identifier: MIT
// The moment at which what was put together gets its name.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include "base/descriptor.h"
#include "migrate/copy_order.h"
#include "migrate/system_call.h"

namespace sluice::migrate {

/// For faults: what was being done, and errno.
CopyFault io_fault(std::string doing);
CopyFault drift(CopyFault::Why why, std::string what);

/// The two names of an order, for system calls.
struct OrderNames {
  explicit OrderNames(const CopyOrder& order) : name(order.wanted.name), temp(order.temp) {}
  bool valid() const { return name.valid() && temp.valid(); }

  CName name;
  CName temp;
};
CopyFault bad_name();

/// Opens what stands at `name` on one side, whatever it is, as a handle (O_PATH). That there is
/// nothing is the drift `missing`.
CopyResult<Descriptor> open_handle(int folder, const char* name, CopyFault::Why missing);

/// A fault if the destination is not as the order says, as far as that can be seen now. Nothing is
/// looked at if nothing is to be replaced, unless `look_anyway`.
std::optional<CopyFault> check_destination(const CopyOrder& order, const OrderNames& names,
                                           bool look_anyway);

/// Calls `make` (0 or -1), which makes the temporary name; if that is there already, once more
/// after removing it.
template <class Make>
std::optional<CopyFault> make_temp(const CopyOrder& order, const OrderNames& names,
                                   const Make& make) {
  if (make() == 0) return {};
  if (errno == EEXIST) {
    if (unlinkat(order.dst, names.temp.c_str(), 0) != 0 && errno != ENOENT)
      return io_fault("remove an old temporary file");
    if (make() == 0) return {};
  }
  return io_fault("make a temporary file");
}

/// Removes the temporary name at the end of its scope, unless it became something.
class TempGuard {
 public:
  TempGuard(const CopyOrder& order, const OrderNames& names) : folder_(order.dst), names_(names) {}
  ~TempGuard() {
    if (armed_) unlinkat(folder_, names_.temp.c_str(), 0);
  }
  TempGuard(const TempGuard&) = delete;
  TempGuard& operator=(const TempGuard&) = delete;

  void release() { armed_ = false; }

 private:
  int folder_;
  const OrderNames& names_;
  bool armed_ = true;
};

/// Gives what has the temporary name its own, in one step. If the order replaces nothing, never
/// over something that is there; otherwise only over what still_is() the replaced.
std::optional<CopyFault> put_in_place(const CopyOrder& order, const OrderNames& names);

/// The same for the file `fd` that has no name yet (O_TMPFILE), of an order that replaces nothing.
std::optional<CopyFault> name_in_place(int fd, const CopyOrder& order, const OrderNames& names);

}  // namespace sluice::migrate
