// SPDX-License-Identifier: MIT
#include <sluice/kv.h>

#include <algorithm>
#include <exception>

#include "kv/engine.h"

namespace sluice::kv {
namespace {

alignas(8) thread_local bool t_inside_body = false;

class BodyScope {
 public:
  BodyScope() { t_inside_body = true; }
  ~BodyScope() { t_inside_body = false; }
  BodyScope(const BodyScope&) = delete;
  BodyScope& operator=(const BodyScope&) = delete;
};

Status nested() {
  return {Code::invalid_argument,
          "a body must not call run(), submit(), read() or copy_to(): use its transaction"};
}

// The boundary to the caller's code: what it throws must not unwind a batch of other callers.
template <class Call>
Status guarded(const Call& call) {
  const BodyScope scope;
  try {
    return call();
  } catch (const std::exception& thrown) {
    return {Code::invalid_argument, std::string("the body threw: ") + thrown.what()};
  } catch (...) {
    return {Code::invalid_argument, "the body threw something that is not a std::exception"};
  }
}

}  // namespace

Result<Commit> Store::run(const Body& body, WriteOptions options) {
  if (Engine::inside_body()) return Failure{nested()};
  return do_run(body, options);
}

void Store::submit(Body body, Done done, WriteOptions options) {
  if (Engine::inside_body()) return done(Failure{nested()});
  do_submit(std::move(body), std::move(done), options);
}

Status Store::read(const ReadBody& body, ReadOptions options) {
  if (Engine::inside_body()) return nested();
  return do_read(body, options);
}

BellTicket Store::listen(std::string_view bell) const {
  return do_listen(bell);
}

Wake Store::wait(const BellTicket& ticket, const WaitOptions& options) const {
  return do_wait(ticket, options);
}

WallTime Store::now() const {
  return do_now();
}

Result<std::uint16_t> Store::raise_epoch() {
  return do_raise_epoch();
}

Status Store::copy_to(const std::string& dir) {
  if (Engine::inside_body()) return nested();
  return do_copy_to(dir);
}

Status Store::do_copy_to(const std::string&) {
  return {Code::invalid_argument, "this store has no file to copy"};
}

bool Engine::inside_body() {
  return t_inside_body;
}

Status Engine::run_body(const Body& body, View& view, Overlay& overlay, const Clock& clock) {
  Transaction txn(view, overlay, {.clock = clock});
  Status status = guarded([&] { return body(txn); });
  if (!txn.failure_.ok()) return txn.failure_;
  if (status.ok()) status = txn.check_time();
  return status;
}

Status Engine::run_read(const ReadBody& body, View& view, const ReadOptions& options,
                        const Clock& clock) {
  struct ReadOnly : Reader {
    using Limits = Reader::Limits;
    ReadOnly(View& base, Limits limits) : Reader(base, limits) {}
  };
  constexpr Duration kForever = std::chrono::hours(24 * 365);
  ReadOnly reader(view,
                  {.clock = clock, .time_max = options.unbounded ? kForever : kTransactionTimeMax});
  const Status status = guarded([&] { return body(reader); });
  return reader.failure_.ok() ? status : reader.failure_;
}

Result<Commit> retry_conflicts(const Attempt& attempt, unsigned attempts_max, const Clock& clock) {
  constexpr Duration kPauseMax = std::chrono::milliseconds(20);
  Duration pause = std::chrono::microseconds(50);
  SystemRandom random;
  for (unsigned tries = 1; tries <= attempts_max; ++tries) {
    if (auto outcome = attempt()) return *std::move(outcome);
    if (tries == 1) continue;  // Whoever won has committed: the first loser meets nobody.
    clock.sleep_for(Duration(random.below(static_cast<std::uint64_t>(pause.count()))), {});
    pause = std::min(pause * 2, kPauseMax);
  }
  return error(Code::conflict, "lost to other transactions " + std::to_string(attempts_max) +
                                   " times: try again when there is less traffic");
}

Distribution distribution_of(const Histogram& histogram) {
  return {.count = histogram.count(),
          .sum = histogram.sum(),
          .p50 = histogram.percentile(0.5),
          .p99 = histogram.percentile(0.99),
          .max = histogram.max()};
}

}  // namespace sluice::kv
