// SPDX-License-Identifier: MIT
#include "tracker/whole_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/descriptor.h"

namespace sluice::tracker {

Result<std::string> whole_file(const std::string& path, std::string_view what) {
  const auto cannot = [&](int number) {
    return error(
        number == ENOENT ? Code::not_found : Code::io_error,
        fmt::format("cannot read {} {}: {}", what, path, std::generic_category().message(number)));
  };
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return cannot(errno);
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  std::string bytes;
  for (std::size_t size = 0;;) {
    bytes.resize(size + kPiece);
    const ssize_t count = ::read(file.get(), bytes.data() + size, kPiece);
    if (count < 0 && errno != EINTR) return cannot(errno);
    if (count > 0) size += static_cast<std::size_t>(count);
    bytes.resize(size);
    if (count == 0) return bytes;
  }
}

}  // namespace sluice::tracker
