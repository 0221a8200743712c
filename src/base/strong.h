// SPDX-License-Identifier: MIT
// Strong ids: a JobId is not a QueueName, and neither is a plain string or number.
#pragma once

#include <compare>
#include <functional>
#include <utility>

namespace sluice {

/// A value of type T that converts neither from nor to anything by itself.
///   using WorkerId = Strong<struct WorkerIdTag, std::uint64_t>;
template <class Tag, class T>
class Strong {
 public:
  Strong() = default;
  explicit Strong(T value) : value_(std::move(value)) {}

  const T& value() const { return value_; }

  friend auto operator<=>(const Strong&, const Strong&) = default;

 private:
  T value_{};
};

}  // namespace sluice

template <class Tag, class T>
struct std::hash<sluice::Strong<Tag, T>> {
  std::size_t operator()(const sluice::Strong<Tag, T>& id) const {
    return std::hash<T>()(id.value());
  }
};
