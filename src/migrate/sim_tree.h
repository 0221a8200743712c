// SPDX-License-Identifier: MIT
// A made-up tree of any size, for tests and for measuring: it needs no disk and no memory.
#pragma once

#include <sluice/clock.h>
#include <sluice/result.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "migrate/filter.h"
#include "migrate/tree.h"

namespace sluice::migrate {

/// What the tree is given from outside. The clock outlives the tree.
struct SimSeams {
  const Clock& clock;
  std::vector<Filter> filters = {};  ///< What they match is delivered `excluded`.
};

/// `spec` is "sim:" and keys with values, joined by commas; each has a default:
///
///   seed=1          another number, another tree
///   world=src       "src" is the tree as it is; every other name, of small letters and digits, is
///   a
///                   variant of it, by the next three keys
///   presence=1      the probability that a node of src is in this world too
///   differ=0        the probability that such a node is different here: its size (a link's
///   target),
///                   time, mode or kind; a folder in a file's place has up to three files
///   extra=1-presence  how many nodes are in this world only, for each node of src
///   depth=4         how many levels of folders are below the root; the deepest have files only
///   folders=4-8     how many folders a folder has, least and most, or one number
///   files=10-20     the same of files; about one in 64 is a link, one in 256 a fifo
///   latency=0       how long the tree takes over a page, over a listing without any, and over a
///                   hash: "10ms", "50us", "1.5s". Slept through the clock
///   page=8192       the most entries of a page, up to kPageEntries
///   errors=0        the probability that a folder cannot be listed: EIO, ETIMEDOUT or EACCES,
///   before
///                   its first entry or halfway. Never the root
///   heal=2          after this many attempts at a folder, EIO and ETIMEDOUT are over; EACCES stays
///   mutate=0        the probability that a folder changes while it is first listed, and perhaps
///   the
///                   second time too: entries are missing, and the listing is `changed`
///
/// Everything about a node is a function of the seed, the world and its path, and so is whether its
/// listing fails: the same spec, the same bytes, on every machine and with any number of threads.
/// Attempts are counted by this object, for the first 262,144 folders that fail or change; later
/// ones are as if healed. hash() is a function of the seed, the path, the size and the time.
///
/// name() has only the keys that decide what nodes there are, so that a run can go on with other
/// errors or another latency.
Result<std::unique_ptr<Tree>> open_sim_tree(std::string_view spec, SimSeams seams);

/// How many nodes the tree of this spec has, without the root. Visits every one of them.
Result<std::uint64_t> sim_nodes(std::string_view spec);

}  // namespace sluice::migrate
