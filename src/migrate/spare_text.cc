// SPDX-License-Identifier: MIT
#include "migrate/spare_text.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace sluice::migrate {
namespace {

constexpr std::size_t kTextsMax = 8;
constexpr std::size_t kBytesMax = 256 * 1024;

std::vector<std::string>& kept() {
  alignas(8) thread_local std::vector<std::string> texts;
  return texts;
}

}  // namespace

std::string spare_text() {
  std::vector<std::string>& texts = kept();
  if (texts.empty()) return {};
  std::string text = std::move(texts.back());
  texts.pop_back();
  return text;
}

void keep_text(std::string text) {
  std::vector<std::string>& texts = kept();
  if (texts.size() == kTextsMax || text.capacity() > kBytesMax) return;
  text.clear();
  texts.push_back(std::move(text));
}

}  // namespace sluice::migrate
