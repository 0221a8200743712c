// SPDX-License-Identifier: MIT
#include "queue_bare.h"

#include <string_view>
#include <unordered_map>

#include "queue_load.h"

namespace sluice::bench {
namespace {

using Dump = std::vector<kv::KeyValue>;

// Every key of a job, or the value that refers to it, holds the stamp of the commit that enqueued
// it; and the jobs of one batch share that.
constexpr std::size_t kCommitBytes = kv::kMarkBytes - sizeof(kv::Mark::ordinal);
using BatchByCommit = std::unordered_map<std::string, std::size_t>;

MDB_val to_val(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};
}

Result<Dump> dump(kv::Store& store) {
  Dump all;
  SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(found, reader.scan(kv::Range::all()));
    all = std::move(found);
    return {};
  }));
  return all;
}

std::optional<std::size_t> batch_in(std::string_view bytes, const BatchByCommit& batches) {
  for (std::size_t at = 0; at + kCommitBytes <= bytes.size(); ++at)
    if (const auto it = batches.find(std::string(bytes.substr(at, kCommitBytes)));
        it != batches.end())
      return it->second;
  return std::nullopt;
}

// Hands a change to the batch it belongs to; one of no batch (a counter) to each.
void assign(const Change& change, std::string_view value, const BatchByCommit& batches,
            std::vector<Changes>& transactions) {
  auto batch = batch_in(change.key, batches);
  if (!batch) batch = batch_in(value, batches);
  if (batch)
    transactions[*batch].push_back(change);
  else
    for (Changes& changes : transactions) changes.push_back(change);
}

// What made `after` of `before`, told apart by batch. Both are in key order, and so is the outcome.
std::vector<Changes> difference(const Dump& before, const Dump& after,
                                const BatchByCommit& batches) {
  std::vector<Changes> transactions(batches.size());
  auto old = before.begin();
  auto now = after.begin();
  while (old != before.end() || now != after.end()) {
    if (now == after.end() || (old != before.end() && old->key < now->key)) {
      assign({.key = old->key}, old->value, batches, transactions);
      ++old;
      continue;
    }
    const bool both = old != before.end() && old->key == now->key;
    if (!both || old->value != now->value)
      assign({.key = now->key, .value = now->value}, now->value, batches, transactions);
    if (both) ++old;
    ++now;
  }
  return transactions;
}

Result<std::string> enqueue_batch(queue::Queues& queues, const std::vector<queue::NewJob>& jobs) {
  const auto ids = queues.enqueue(jobs);
  for (const auto& id : ids) SLUICE_TRY(id);
  SLUICE_LET(first, queues.get({.queue = kQueue, .id = *ids.front()}));
  return first.number.encode().substr(0, kCommitBytes);
}

}  // namespace

std::uint64_t bytes_of(const std::vector<Changes>& transactions) {
  std::uint64_t bytes = 0;
  for (const Changes& changes : transactions)
    for (const Change& change : changes)
      bytes += change.key.size() + (change.value ? change.value->size() : 0);
  return bytes;
}

Result<Recording> record(const std::string& dir, std::size_t batches) {
  SLUICE_LET(shop, Shop::open(dir));
  const auto jobs = plain_batch();
  SLUICE_TRY(turn_over(*shop.queues, plain_batch, 1));  // Makes the queue and its counters.
  SLUICE_LET(empty, dump(*shop.store));
  BatchByCommit batch_by_commit;
  for (std::size_t i = 0; i < batches; ++i) {
    SLUICE_LET(commit, enqueue_batch(*shop.queues, jobs));
    batch_by_commit[commit] = i;
  }
  SLUICE_LET(enqueued, dump(*shop.store));
  std::vector<std::vector<queue::Lease>> leases;
  for (std::size_t i = 0; i < batches; ++i) {
    SLUICE_LET(batch, claim_all(*shop.queues, kBatch));
    leases.push_back(std::move(batch));
  }
  SLUICE_LET(claimed, dump(*shop.store));
  for (const auto& batch : leases) SLUICE_TRY(ack_all(*shop.queues, batch));
  SLUICE_LET(acked, dump(*shop.store));
  return Recording{.enqueues = difference(empty, enqueued, batch_by_commit),
                   .claims = difference(enqueued, claimed, batch_by_commit),
                   .acks = difference(claimed, acked, batch_by_commit)};
}

Result<std::unique_ptr<BareStore>> BareStore::open(const std::string& dir) {
  std::unique_ptr<BareStore> bare(new BareStore);
  SLUICE_TRY(bare->open_in(dir));
  return bare;
}

int BareStore::write(MDB_txn* txn, const Changes& changes) const {
  int rc = 0;
  for (auto change = changes.begin(); change != changes.end() && rc == 0; ++change) {
    MDB_val key = to_val(change->key);
    MDB_val value = to_val(change->value ? std::string_view(*change->value) : std::string_view());
    rc = change->value ? mdb_put(txn, dbi_, &key, &value, 0) : mdb_del(txn, dbi_, &key, nullptr);
    // Events that are trimmed may have been written before the recording began.
    if (!change->value && rc == MDB_NOTFOUND) rc = 0;
  }
  return rc;
}

Status BareStore::commit(const Changes& changes) {
  MDB_txn* txn = nullptr;
  SLUICE_TRY(lmdb_failed(mdb_txn_begin(env_, nullptr, 0, &txn)));
  if (const int rc = write(txn, changes); rc != 0) {
    mdb_txn_abort(txn);
    return lmdb_failed(rc);
  }
  return lmdb_failed(mdb_txn_commit(txn));
}

}  // namespace sluice::bench
