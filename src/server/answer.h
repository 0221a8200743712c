// SPDX-License-Identifier: MIT
// Answers that all routes share.
#pragma once

#include <sluice/clock.h>
#include <sluice/result.h>

#include <string>
#include <string_view>

#include "codec/json.h"
#include "net/http.h"

namespace sluice::server {

/// 200 with a JSON text.
net::HttpResponse json_answer(std::string text);

/// A plain sentence.
net::HttpResponse text_answer(unsigned status, std::string_view text);

/// `status` as a plain sentence, for clients that read nothing else.
net::HttpResponse failure_answer(const Status& status);

/// {"error":{"code":"not_found","message":"...","advice":"..."}}
void put_failure(codec::json::Writer& writer, const Status& why);

/// The same as an answer, with the status of the code.
net::HttpResponse v1_failure(const Status& why);

/// As the API tells it to which the target of the request belongs.
net::HttpResponse failure_answer(std::string_view target, const Status& why);

/// 401: whoever asks is nobody.
net::HttpResponse no_token_answer(std::string_view target);

/// 429: a limit of a token is reached, and the request may be repeated after `wait`.
net::HttpResponse limited_answer(std::string_view target, Duration wait, std::string_view why);

}  // namespace sluice::server
