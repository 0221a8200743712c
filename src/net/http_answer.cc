// SPDX-License-Identifier: MIT
#include "net/http_answer.h"

#include <algorithm>

namespace sluice::net {

const std::string* ClientResponse::find(std::string_view name) const {
  for (const auto& [its_name, value] : headers)
    if (equal_ignoring_case(its_name, name)) return &value;
  return nullptr;
}

HttpAnswer::HttpAnswer(std::string_view method, AnswerLimits limits)
    : without_body_(method == "HEAD"), limits_(limits), chunks_(limits.body_bytes_max) {}

void HttpAnswer::fail(std::string_view why) {
  state_ = State::wrong;
  why_ = why;
}

void HttpAnswer::fail_too_large() {
  fail("the body of its answer has more than " + std::to_string(limits_.body_bytes_max) +
       " bytes, which is the limit");
}

void HttpAnswer::take(std::string_view bytes) {
  begun_ = begun_ || !bytes.empty();
  rest_.append(bytes);
  while (state_ == State::more && step()) {
  }
}

void HttpAnswer::end(std::string_view why) {
  if (state_ != State::more) return;
  // Cut off, such a body would look whole.
  if (part_ == Part::until_end && why.empty()) {
    state_ = State::done;
    return;
  }
  const char* const where = !begun_               ? "before its answer"
                            : part_ == Part::head ? "within the head of its answer"
                                                  : "within the body of its answer";
  fail("the connection ended " + std::string(where) +
       (why.empty() ? "" : " (" + std::string(why) + ")"));
}

/// Whether to go on with what is there.
bool HttpAnswer::step() {
  switch (part_) {
    case Part::head:
      return take_head();
    case Part::sized:
      take_sized();
      return false;
    case Part::chunked:
      take_chunks();
      return false;
    case Part::until_end:
      take_all();
      return false;
  }
  return false;
}

bool HttpAnswer::take_head() {
  const std::string_view text = std::string_view(rest_).substr(0, limits_.head_bytes_max);
  const std::size_t size = head_bytes(text, looked_at_);
  if (size == 0) {
    looked_at_ = text.size();
    if (looked_at_ == limits_.head_bytes_max) fail("the head of its answer is too large");
    return false;
  }
  const auto head = parse_response_head(text.substr(0, size), limits_.head);
  if (!head) {
    fail("its answer is malformed: " + std::string(head.error().why));
    return false;
  }
  if (head->status >= 200) {
    begin_body(*head);
  } else if (head->status == 101) {
    fail("it wants to speak another protocol");
  } else if (++interim_ > kInterimMax) {
    fail("it sends interim answers (1xx) without end");
  }
  rest_.erase(0, size);
  looked_at_ = 0;
  return state_ == State::more;
}

void HttpAnswer::begin_body(const ResponseHead& head) {
  response_.status = head.status;
  for (const Header& header : head.headers)
    response_.headers.emplace_back(header.name, header.value);
  keep_alive_ = head.keep_alive;
  if (without_body_ || head.status == 204 || head.status == 304 ||
      (head.has_length && head.body_bytes == 0)) {
    state_ = State::done;
  } else if (head.chunked) {
    part_ = Part::chunked;
  } else if (!head.has_length) {
    part_ = Part::until_end;
    keep_alive_ = false;
  } else if (head.body_bytes > limits_.body_bytes_max) {
    fail_too_large();
  } else {
    part_ = Part::sized;
    left_ = head.body_bytes;
  }
}

void HttpAnswer::take_sized() {
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left_, rest_.size()));
  response_.body.append(rest_, 0, count);
  rest_.erase(0, count);
  left_ -= count;
  if (left_ == 0) state_ = State::done;
}

void HttpAnswer::take_chunks() {
  rest_.erase(0, chunks_.take(rest_, response_.body));
  if (chunks_.state() == ChunkedBody::State::done) state_ = State::done;
  if (chunks_.state() == ChunkedBody::State::too_big) fail_too_large();
  if (chunks_.state() == ChunkedBody::State::wrong)
    fail("its answer is malformed: The body is not chunked as it should be.");
}

void HttpAnswer::take_all() {
  if (rest_.size() > limits_.body_bytes_max - response_.body.size()) return fail_too_large();
  response_.body.append(rest_);
  rest_.clear();
}

}  // namespace sluice::net
