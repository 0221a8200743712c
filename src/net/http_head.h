// SPDX-License-Identifier: MIT
// The head of an HTTP/1.1 message: the request line or the status line, and the header fields.
//
// Strict where two parsers could disagree about where a message ends (RFC 9112, section 11.2): what
// is refused here is what request smuggling is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace sluice::net {

struct HeadLimits {
  std::size_t target_bytes_max = 8 * 1024;
  std::size_t headers_max = 100;
};

/// Why a message is refused, and the status that tells the other side.
struct Refusal {
  unsigned status = 400;
  std::string_view why = {};  ///< One plain sentence; a literal.
};

struct Header {
  std::string_view name = {};
  std::string_view value = {};  ///< Without the white space around it.
};

/// Views into the text that was parsed. The body's length is `body_bytes` unless it is chunked.
struct MessageHead {
  std::vector<Header> headers = {};
  bool chunked = false;
  bool has_length = false;
  std::uint64_t body_bytes = 0;
  bool keep_alive = true;
  bool says_close = false;  ///< Whatever else it says.

  /// The value of the first field of that name, in any case; null if there is none.
  const std::string_view* find(std::string_view name) const;
};

struct RequestHead : MessageHead {
  std::string_view method = {};
  std::string_view target = {};  ///< Begins with '/'. Printable ASCII, as it came.
  bool expects_continue = false;
  bool is_http_1_0 = false;
};

struct ResponseHead : MessageHead {
  unsigned status = 0;
};

/// The size of the head with the empty line at its end; 0 if `text` does not hold all of it.
/// `looked_at` is how much of it an earlier call has seen in vain.
std::size_t head_bytes(std::string_view text, std::size_t looked_at = 0);

/// `head` is exactly what head_bytes() measured. Refused, besides what is malformed:
///   400  a bare CR or LF; NUL and other control characters; white space before the colon; a folded
///        line; no Host or two; a length that is no plain number, is repeated, or stands beside a
///        transfer coding; a coding other than `chunked`, or one in HTTP/1.0; a target that does
///        not begin with '/';
///   414, 431  past the limits;   417  an expectation other than 100-continue;   505  not HTTP/1.x.
tl::expected<RequestHead, Refusal> parse_request_head(std::string_view head,
                                                      HeadLimits limits = {});

/// The same rules for an answer.
tl::expected<ResponseHead, Refusal> parse_response_head(std::string_view head,
                                                        HeadLimits limits = {});

/// A method or the name of a header (RFC 9110, section 5.6.2).
bool is_token(std::string_view text);

/// The value of a header: no CR, LF, NUL or other control character but the tab.
bool is_field_value(std::string_view text);

/// As header names and the words in header values are compared.
bool equal_ignoring_case(std::string_view a, std::string_view b);

/// Whether a comma-separated value holds this word.
bool has_word(std::string_view value, std::string_view word);

}  // namespace sluice::net
