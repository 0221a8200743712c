// SPDX-License-Identifier: MIT
#include "tests/kv/ledger.h"

#include <algorithm>

#include "tests/kv/ledger_layout.h"

namespace sluice::test {
namespace {

constexpr std::uint64_t kWindowDrained = 2;

Result<Account> get_account(kv::Transaction& txn, unsigned account) {
  SLUICE_LET(bytes, txn.get(account_key(account)));
  if (!bytes) return error(Code::not_found, "the ledger is not set up");
  return Account::decode(*bytes);
}

Result<Head> get_head(kv::Reader& reader, unsigned lane) {
  SLUICE_LET(bytes, reader.get(head_key(lane)));
  return bytes ? Head::decode(*bytes) : Result<Head>(Head{});
}

// One entry in twelve needs pages of its own.
std::uint64_t filler_bytes(const Posting& posting, Random& random) {
  if (posting.drain) return 10;
  return random.below(12) == 0 ? 2'500 + random.below(6'500) : random.below(300);
}

Result<std::array<Touch, 2>> move_amount(kv::Transaction& txn, Random& random) {
  const auto from = static_cast<unsigned>(random.below(kAccounts));
  const auto to = static_cast<unsigned>((from + 1 + random.below(kAccounts - 1)) % kAccounts);
  SLUICE_LET(payer, get_account(txn, from));
  SLUICE_LET(payee, get_account(txn, to));
  const std::uint64_t amount = std::min(payer.balance, random.below(100));
  payer = {payer.balance - amount, payer.version + 1};
  payee = {payee.balance + amount, payee.version + 1};
  txn.put(account_key(from), payer.encode());
  txn.put(account_key(to), payee.encode());
  return std::array<Touch, 2>{Touch{from, payer.version}, Touch{to, payee.version}};
}

// Forgets all but the last `keep` postings of the lane, counting the one being made.
Status trim(kv::Transaction& txn, unsigned lane, Head& head, std::uint64_t keep) {
  if (head.last <= head.trimmed + keep) return {};
  const std::uint64_t up_to = head.last - keep;
  SLUICE_LET(old, txn.scan(kv::Range::prefix(stamped_prefix(lane)),
                           {.limit = static_cast<std::size_t>(up_to - head.trimmed)}));
  for (const kv::KeyValue& entry : old) txn.erase(entry.key);
  txn.erase_range({log_key(lane, head.trimmed + 1), log_key(lane, up_to + 1)});
  head.trimmed = up_to;
  return {};
}

Status post_body(kv::Transaction& txn, const Posting& posting) {
  SeededRandom random(posting.seed);
  SLUICE_LET(head, get_head(txn, posting.lane));
  if (head.last + 1 != posting.number)
    return error(Code::conflict, "lane " + std::to_string(posting.lane) + " is at " +
                                     std::to_string(head.last) + ", not before " +
                                     std::to_string(posting.number));
  SLUICE_LET(touches, move_amount(txn, random));
  head.last = posting.number;
  const LogEntry entry{.lane = posting.lane,
                       .number = posting.number,
                       .touches = touches,
                       .filler_seed = random.next(),
                       .filler_bytes = filler_bytes(posting, random)};
  txn.put(log_key(posting.lane, posting.number), entry.encode());
  if (posting.drain || random.below(4) == 0)
    SLUICE_TRY(trim(txn, posting.lane, head, posting.drain ? kWindowDrained : posting.window));
  txn.put(head_key(posting.lane), head.encode());
  txn.add(kCountKey, 1);
  const std::uint32_t ordinal = txn.take_ordinal();
  txn.put_stamped_key(stamped_prefix(posting.lane), ordinal, "", encode_number(posting.number));
  txn.put_stamped_value(last_key(posting.lane), encode_number(posting.number), ordinal);
  txn.ring("ledger");
  return {};
}

}  // namespace

Status set_up_ledger(kv::Store& store) {
  return status_of(store.run([](kv::Transaction& txn) -> Status {
    SLUICE_LET(there, txn.get(account_key(0)));
    if (there) return {};
    for (unsigned account = 0; account < kAccounts; ++account)
      txn.put(account_key(account), Account{.balance = kBalanceStart, .version = 0}.encode());
    return {};
  }));
}

Result<std::uint64_t> last_posting(kv::Store& store, unsigned lane) {
  std::uint64_t last = 0;
  SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(head, get_head(reader, lane));
    last = head.last;
    return {};
  }));
  return last;
}

Result<kv::Commit> post(kv::Store& store, const Posting& posting) {
  const auto write_class = posting.drain ? kv::WriteClass::drain : kv::WriteClass::grow;
  return store.run([&](kv::Transaction& txn) { return post_body(txn, posting); },
                   {.write_class = write_class});
}

}  // namespace sluice::test
