// SPDX-License-Identifier: MIT
#include "net/resolver.h"

#include <netdb.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

namespace sluice::net {
namespace {

Failure not_found(const std::string& host, const std::string& why) {
  return error(Code::unavailable, "cannot find the address of " + host + ": " + why +
                                      "; check the name, and that names can be looked up here");
}

}  // namespace

Result<std::vector<Address>> look_up(const std::string& host, std::uint16_t port) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
  addrinfo* first = nullptr;
  const int problem = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &first);
  if (problem == EAI_SYSTEM) return not_found(host, std::generic_category().message(errno));
  if (problem != 0) return not_found(host, gai_strerror(problem));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(first, freeaddrinfo);
  std::vector<Address> found;
  for (const addrinfo* one = first; one != nullptr; one = one->ai_next) {
    Address address;
    if (one->ai_addrlen > sizeof address.storage) continue;
    std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
    address.bytes = one->ai_addrlen;
    found.push_back(address);
  }
  if (found.empty()) return not_found(host, "it has none");
  return found;
}

Resolver::~Resolver() {
  std::vector<std::jthread> ending;
  {
    const MutexLock lock(mutex_);
    over_ = true;
    ending.swap(threads_);
  }
  changed_.notify_all();
}

std::uint64_t Resolver::find(std::string host, std::uint16_t port, Done done) {
  const MutexLock lock(mutex_);
  wanted_.emplace(++last_, Wanted{std::move(host), port, std::move(done)});
  if (wanted_.size() > resting_ && threads_.size() < kThreadsMax)
    threads_.emplace_back([this] { work(); });
  changed_.notify_one();
  return last_;
}

void Resolver::forget(std::uint64_t number) {
  const MutexLock lock(mutex_);
  wanted_.erase(number);
}

void Resolver::work() {
  MutexLock lock(mutex_);
  for (;;) {
    ++resting_;
    while (wanted_.empty() && !over_) changed_.wait(lock);
    --resting_;
    if (over_) return;
    const Wanted wanted = std::move(wanted_.extract(wanted_.begin()).mapped());
    lock.unlock();
    wanted.done(look_up_(wanted.host, wanted.port));
    lock.lock();
  }
}

}  // namespace sluice::net
