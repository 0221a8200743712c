// SPDX-License-Identifier: MIT
// A body in chunks (RFC 9112, section 7.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::net {

/// Takes a chunked body apart as its bytes come. Extensions of a chunk are passed over; trailers
/// are refused.
class ChunkedBody {
 public:
  enum class State : std::uint8_t {
    more,     ///< Bytes are missing.
    done,     ///< The body is whole; what was not taken is the next message.
    wrong,    ///< Malformed: nothing after it can be trusted.
    too_big,  ///< Larger than the limit.
  };

  explicit ChunkedBody(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Appends to `body` what is in `bytes`, and says how many of them were taken. To be called again
  /// with those that were not, and more, as long as state() is `more`.
  std::size_t take(std::string_view bytes, std::string& body);
  State state() const { return state_; }

 private:
  enum class Part : std::uint8_t { size, data, after_data, end };
  /// The bytes of a line with its CR LF; 0 if it is not whole.
  std::size_t take_line(std::string_view bytes, std::string_view& line);
  bool begin_chunk(std::string_view line, std::size_t body_bytes);

  std::size_t bytes_max_;
  std::size_t left_ = 0;  // Of the chunk.
  Part part_ = Part::size;
  State state_ = State::more;
};

}  // namespace sluice::net
