// SPDX-License-Identifier: MIT
#include "net/http_head.h"

#include <algorithm>
#include <charconv>

namespace sluice::net {
namespace {

using Problem = tl::unexpected<Refusal>;

Problem bad_head(std::string_view why, unsigned status = 400) {
  return Problem(Refusal{status, why});
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

/// RFC 9110, section 5.6.2.
bool is_token_char(char c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
  return c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_printable(char c) {
  return c > ' ' && c < '\x7f';
}

/// Of a field's value: no control character but the tab. Bytes beyond ASCII are passed on.
bool is_content(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte == '\t' || (byte >= ' ' && byte != 0x7f);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Takes the next line, which ends with CR LF and holds neither otherwise.
bool take_line(std::string_view& rest, std::string_view& line) {
  const std::size_t end = rest.find_first_of("\r\n");
  if (end == std::string_view::npos || !rest.substr(end).starts_with("\r\n")) return false;
  line = rest.substr(0, end);
  rest.remove_prefix(end + 2);
  return true;
}

std::string_view take_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

tl::expected<void, Refusal> read_length(MessageHead& head, std::string_view value) {
  if (head.has_length) return bad_head("Content-Length stands twice.");
  const auto [end, problem] =
      std::from_chars(value.data(), value.data() + value.size(), head.body_bytes);
  const bool digits =
      !value.empty() && std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || problem != std::errc() || end != value.data() + value.size())
    return bad_head("Content-Length is not a number of bytes.");
  head.has_length = true;
  return {};
}

/// What frames the message is looked at when it is met, so that nothing is found by name later that
/// was not judged here.
tl::expected<void, Refusal> read_framing(MessageHead& head, const Header& header) {
  if (equal_ignoring_case(header.name, "content-length")) return read_length(head, header.value);
  if (equal_ignoring_case(header.name, "transfer-encoding")) {
    if (head.chunked) return bad_head("Transfer-Encoding stands twice.");
    if (!equal_ignoring_case(header.value, "chunked"))
      return bad_head("The only transfer coding that is understood is chunked.");
    head.chunked = true;
  }
  if (equal_ignoring_case(header.name, "connection")) {
    head.says_close = head.says_close || has_word(header.value, "close");
    head.keep_alive = !head.says_close && (head.keep_alive || has_word(header.value, "keep-alive"));
  }
  return {};
}

tl::expected<void, Refusal> read_headers(MessageHead& head, std::string_view rest,
                                         HeadLimits limits) {
  for (std::string_view line;;) {
    if (!take_line(rest, line)) return bad_head("A header line must end with CR LF.");
    if (line.empty()) break;
    if (head.headers.size() == limits.headers_max) return bad_head("Too many header lines.", 431);
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    if (colon == std::string_view::npos || !is_token(name))
      return bad_head("A header line is not 'name: value'.");
    const Header header{name, trimmed(line.substr(colon + 1))};
    if (!is_field_value(header.value)) return bad_head("A header value holds a control character.");
    if (auto framing = read_framing(head, header); !framing) return framing;
    head.headers.push_back(header);
  }
  if (!rest.empty()) return bad_head("The head does not end with its empty line.");
  if (head.chunked && head.has_length)
    return bad_head("Content-Length and Transfer-Encoding exclude each other.");
  return {};
}

std::size_t count_of(const MessageHead& head, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::count_if(
      head.headers, [&](const Header& header) { return equal_ignoring_case(header.name, name); }));
}

tl::expected<void, Refusal> read_request_line(RequestHead& head, std::string_view line,
                                              HeadLimits limits) {
  head.method = take_word(line);
  head.target = take_word(line);
  if (!is_token(head.method)) return bad_head("The request line does not begin with a method.");
  if (head.target.size() > limits.target_bytes_max) return bad_head("The target is too long.", 414);
  if (!head.target.starts_with('/') || !std::ranges::all_of(head.target, is_printable) ||
      head.target.find('#') != std::string_view::npos)
    return bad_head("The target must be a path that begins with '/'.");
  if (line == "HTTP/1.1") return {};
  if (line != "HTTP/1.0") {
    const bool other = line.starts_with("HTTP/") && line.size() == 8;
    return other ? bad_head("Only HTTP/1.1 is spoken here.", 505)
                 : bad_head("The request line does not end with the version of HTTP.");
  }
  head.is_http_1_0 = true;
  head.keep_alive = false;
  return {};
}

tl::expected<void, Refusal> check_request(RequestHead& head) {
  const std::size_t hosts = count_of(head, "host");
  if (hosts > 1 || (hosts == 0 && !head.is_http_1_0))
    return bad_head("A request names its host exactly once.");
  if (head.chunked && head.is_http_1_0) return bad_head("HTTP/1.0 knows no transfer codings.");
  if (const std::string_view* expected = head.find("expect"); expected != nullptr) {
    if (!equal_ignoring_case(*expected, "100-continue"))
      return bad_head("The only expectation that is understood is 100-continue.", 417);
    head.expects_continue = !head.is_http_1_0;
  }
  return {};
}

}  // namespace

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_token_char);
}

bool is_field_value(std::string_view text) {
  return std::ranges::all_of(text, is_content);
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

bool has_word(std::string_view value, std::string_view word) {
  while (!value.empty()) {
    const std::size_t comma = std::min(value.find(','), value.size());
    if (equal_ignoring_case(trimmed(value.substr(0, comma)), word)) return true;
    value.remove_prefix(std::min(comma + 1, value.size()));
  }
  return false;
}

const std::string_view* MessageHead::find(std::string_view name) const {
  for (const Header& header : headers)
    if (equal_ignoring_case(header.name, name)) return &header.value;
  return nullptr;
}

std::size_t head_bytes(std::string_view text, std::size_t looked_at) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  const std::size_t from = looked_at < kEnd.size() ? 0 : looked_at - (kEnd.size() - 1);
  const std::size_t end = text.find(kEnd, from);
  return end == std::string_view::npos ? 0 : end + kEnd.size();
}

tl::expected<RequestHead, Refusal> parse_request_head(std::string_view head, HeadLimits limits) {
  RequestHead parsed;
  std::string_view line;
  if (!take_line(head, line)) return bad_head("The request line must end with CR LF.");
  if (auto read = read_request_line(parsed, line, limits); !read) return Problem(read.error());
  if (auto read = read_headers(parsed, head, limits); !read) return Problem(read.error());
  if (auto checked = check_request(parsed); !checked) return Problem(checked.error());
  return parsed;
}

tl::expected<ResponseHead, Refusal> parse_response_head(std::string_view head, HeadLimits limits) {
  ResponseHead parsed;
  std::string_view line;
  if (!take_line(head, line)) return bad_head("The status line must end with CR LF.");
  const std::string_view version = take_word(line);
  const std::string_view status = take_word(line);
  if (version != "HTTP/1.1" && version != "HTTP/1.0")
    return bad_head("The answer is not of HTTP/1.x.");
  const auto [end, problem] =
      std::from_chars(status.data(), status.data() + status.size(), parsed.status);
  if (status.size() != 3 || problem != std::errc() || end != status.data() + 3 ||
      parsed.status < 100)
    return bad_head("The status is not a number of three digits.");
  if (!std::ranges::all_of(line, is_content)) return bad_head("The reason is not a text.");
  parsed.keep_alive = version == "HTTP/1.1";
  if (auto read = read_headers(parsed, head, limits); !read) return Problem(read.error());
  if (parsed.chunked && version == "HTTP/1.0")
    return bad_head("HTTP/1.0 knows no transfer codings.");
  return parsed;
}

}  // namespace sluice::net
