// SPDX-License-Identifier: MIT
// Answers that all routes share.
#pragma once

#include <sluice/result.h>

#include <string>
#include <string_view>

#include "net/http.h"

namespace sluice::server {

/// 200 with a JSON text.
net::HttpResponse json_answer(std::string text);

/// A plain sentence.
net::HttpResponse text_answer(unsigned status, std::string_view text);

/// `status` as a plain sentence, for clients that read nothing else.
net::HttpResponse failure_answer(const Status& status);

}  // namespace sluice::server
