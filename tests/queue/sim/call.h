// SPDX-License-Identifier: MIT
// One call of the queue layer as a value: what was asked and what came back. Actors make them, the
// oracle judges them, and a call whose outcome is unknown can be made again just as it was.
#pragma once

#include <sluice/queue.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::queue::sim {

enum class Verb : std::uint8_t {
  enqueue,
  claim,
  extend,
  ack,
  fail,
  release,
  cancel,
  requeue,
  edit,
  hold,
  unhold,
  break_lease,
  remove,
  purge,
  configure,
  limit_group,
  pause,
  resume,
  sweep,
};
const char* verb_name(Verb verb);

/// One job that a call is about. Which fields count depends on the verb.
struct Item {
  NewJob job = {};  ///< enqueue
  std::string queue = {};
  std::string id = {};                ///< The operator's verbs.
  Token token = {};                   ///< The worker's verbs.
  std::string text = {};              ///< ack: the result; fail: the error; extend: the progress.
  std::optional<Duration> span = {};  ///< extend: the lease; fail, release: the delay.
  bool flag = false;                  ///< fail: dead; requeue: keep the attempts.
  EditRequest edit = {};
  std::vector<NewJob> children = {};  ///< ack

  Status status = {};
  std::string new_id = {};  ///< enqueue
  WallTime deadline = {};   ///< extend
};

/// Whether an earlier try of the same operation has happened.
enum class Applied : std::uint8_t { no, yes, maybe };

struct Call {
  std::uint64_t number = 0;  ///< The same for every try of one operation.
  Verb verb = Verb::sweep;
  std::size_t process = 0;
  std::vector<Item> items = {};
  bool batch = false;
  bool all_or_none = false;
  std::string operation = {};
  ClaimRequest claim = {};
  std::string queue = {};  ///< configure, limit_group, pause, resume, purge
  std::string group = {};
  std::optional<std::uint32_t> limit = {};
  QueueConfig config = {};
  Lane lane = Lane::done;
  std::uint64_t count_max = 0;  ///< sweep, purge

  Status status = {};  ///< Of the call as a whole; ok if it is the items' statuses that count.
  std::vector<Lease> leases = {};
  Swept swept = {};
  WallTime first_begun = {};
  WallTime begun = {};
  WallTime ended = {};
  unsigned tries = 0;
  Applied applied = Applied::no;
  bool intruded = false;  ///< Other calls ran inside this one.
  bool put_off = false;   ///< Nobody could look at the store when it came back.

  /// The store failed in the middle: it may have happened.
  bool doubtful() const;
  /// As one line for the trace.
  std::string to_string() const;
};

/// A mark of this call and item, carried by the payload of a job that it enqueues.
std::string nonce_of(const Call& call, std::size_t item);
/// The nonce in a payload.
std::string nonce_in(const std::string& payload);

/// Makes the call on `queues` and fills in what came back.
void execute(Queues& queues, Call& call);
/// As execute(), for the verbs enqueue, ack, fail and release inside the caller's transaction.
/// Refused items do not end the transaction.
void execute_in(Scope& scope, Call& call);

}  // namespace sluice::queue::sim
