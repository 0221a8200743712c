// SPDX-License-Identifier: MIT
// The answer to a request, as its bytes come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/chunked.h"
#include "net/http_head.h"

namespace sluice::net {

struct ClientResponse {
  unsigned status = 0;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};

  /// The value of the first field of that name, in any case; null if there is none.
  const std::string* find(std::string_view name) const;
};

struct AnswerLimits {
  HeadLimits head = {};
  std::size_t head_bytes_max = 16 * 1024;
  std::size_t body_bytes_max = 16 * 1024 * 1024;
};

/// Takes one answer apart: a few interim ones (1xx), the head, and a body that ends by its length,
/// by its last chunk or with the connection.
class HttpAnswer {
 public:
  static constexpr unsigned kInterimMax = 8;

  enum class State : std::uint8_t {
    more,   ///< Bytes are missing.
    done,   ///< response() is whole.
    wrong,  ///< why() says what is.
  };

  /// To a request of this method: HEAD has no body.
  HttpAnswer(std::string_view method, AnswerLimits limits);

  void take(std::string_view bytes);
  /// The other side has ended the connection, in the orderly way or not: then `why` says how.
  void end(std::string_view why = {});

  State state() const { return state_; }
  const std::string& why() const { return why_; }
  /// A byte has come.
  bool begun() const { return begun_; }
  /// It is done, the server wants to keep the connection, and nothing came that nobody asked for.
  bool keeps_connection() const { return state_ == State::done && keep_alive_ && rest_.empty(); }
  ClientResponse& response() { return response_; }

 private:
  enum class Part : std::uint8_t { head, sized, chunked, until_end };
  bool step();
  bool take_head();
  void begin_body(const ResponseHead& head);
  void take_sized();
  void take_chunks();
  void take_all();
  void fail(std::string_view why);
  void fail_too_large();

  const bool without_body_;
  const AnswerLimits limits_;
  State state_ = State::more;
  Part part_ = Part::head;
  std::string why_;
  bool begun_ = false;
  bool keep_alive_ = false;
  unsigned interim_ = 0;
  std::string rest_;           // What has come and was not used yet.
  std::size_t looked_at_ = 0;  // Of it, in vain, for the end of the head.
  std::uint64_t left_ = 0;     // Of a body of known length.
  ChunkedBody chunks_;
  ClientResponse response_;
};

}  // namespace sluice::net
