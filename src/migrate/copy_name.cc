// SPDX-License-Identifier: MIT
#include "migrate/copy_name.h"

#include <string>

#include "migrate/copy_file.h"
#include "migrate/stat_entry.h"
#include "migrate/temp_name.h"

namespace sluice::migrate {
namespace {

/// Tags temporary names, so that they are told from those of others.
constexpr std::string_view kTempTag = "sluice-migrate";

CopyResult<Copied> make(const CopyOrder& order, const CopyRules& rules, CopyExtent extent) {
  if (extent == CopyExtent::attributes) return set_attributes(order, rules);
  switch (order.wanted.kind) {
    case Kind::file:
      return copy_file(order, rules);
    case Kind::link:
      return copy_link(order, rules);
    default:
      return copy_special(order, rules);
  }
}

}  // namespace

Done copy_name(CopyOrder order, const CopyRules& rules, CopyExtent extent) {
  const std::string temp = temp_name(kTempTag, order.wanted.name);
  order.temp = temp;
  const auto made = make(order, rules, extent);
  if (made) return {.entry = made->entry, .hash = made->hash};
  if (made.error().why == CopyFault::Why::drift_dst) {
    const auto now = look_at(order.dst, order.wanted.name);
    if (now && still_is(*now, order.wanted)) {
      const auto set =
          set_attributes({.src = order.src, .dst = order.dst, .wanted = order.wanted}, rules);
      if (set) return {.entry = set->entry};
    }
  }
  return failed(reason_of(made.error()));
}

std::optional<Done> link_name(CopyOrder order, const LinkFirst& first) {
  auto known = look_at(first.folder, first.name);
  if (!known || !still_is(*known, order.wanted)) return {};
  known->name = first.name;
  const std::string temp = temp_name(kTempTag, order.wanted.name);
  order.temp = temp;
  auto made = link_to(order, {.folder = first.folder, .known = *known});
  if (!made && made.error().why == CopyFault::Why::drift_dst) {
    // A run that was killed may have copied it by itself.
    auto now = look_at(order.dst, order.wanted.name);
    if (now && still_is(*now, order.wanted)) {
      now->name = order.wanted.name;
      order.replaced = &*now;
      made = link_to(order, {.folder = first.folder, .known = *known});
    }
  }
  if (!made) return {};
  return Done{.entry = made->entry};
}

}  // namespace sluice::migrate
