// SPDX-License-Identifier: MIT
// Two accounts and a journal, changed together or not at all. docs/design/kv.md walks through it.
#include <sluice/kv.h>

#include <cstdio>
#include <string>

using sluice::Code;
using sluice::Result;
using sluice::Status;
namespace kv = sluice::kv;

Result<int> balance(kv::Reader& reader, const std::string& who) {
  SLUICE_LET(text, reader.get("account/" + who));
  return text ? std::stoi(*text) : 0;
}

// Everything in here commits as one, and is durable when run() returns.
Status transfer(kv::Store& store, const std::string& from, const std::string& to, int amount) {
  return sluice::status_of(store.run([&](kv::Transaction& txn) -> Status {
    SLUICE_LET(source, balance(txn, from));
    SLUICE_LET(target, balance(txn, to));
    if (source < amount)
      return {Code::limit_exceeded, from + " has only " + std::to_string(source)};
    txn.put("account/" + from, std::to_string(source - amount));
    txn.put("account/" + to, std::to_string(target + amount));
    // Journal entries sort by commit: the store fills in the stamp when it commits.
    txn.put_stamped_key("journal/", txn.take_ordinal(), "",
                        from + " to " + to + ": " + std::to_string(amount));
    txn.add("transfers", 1);  // Blind: two transfers at once do not wait for each other here.
    txn.ring("journal");      // Wakes whoever waits for new entries, in any process.
    return {};
  }));
}

int main(int argc, char** argv) {
  const std::string dir = argc > 1 ? argv[1] : "bank.store";
  auto store = kv::open_lmdb({.dir = dir});
  if (!store) return std::puts(store.error().to_string().c_str()), 1;

  auto opened = (*store)->run([](kv::Transaction& txn) -> Status {
    txn.erase_range(kv::Range::all());
    txn.put("account/alice", "100");
    return {};
  });
  if (!opened) return std::puts(opened.error().to_string().c_str()), 1;

  std::puts(transfer(**store, "alice", "bob", 30).to_string().c_str());
  std::puts(transfer(**store, "bob", "carol", 5).to_string().c_str());
  std::puts(transfer(**store, "alice", "carol", 500).to_string().c_str());

  const Status listed = (*store)->read([](kv::Reader& reader) -> Status {
    SLUICE_LET(entries, reader.scan(kv::Range::prefix("journal/")));
    for (const auto& entry : entries) std::printf("%s\n", entry.value.c_str());
    SLUICE_LET(alice, balance(reader, "alice"));
    std::printf("alice has %d\n", alice);
    return {};
  });
  return listed.ok() ? 0 : 1;
}
