// SPDX-License-Identifier: MIT
#include "worker/places.h"

#include <unistd.h>

#include <sluice/random.h>

#include "queue/names.h"

namespace sluice::worker {
namespace {

std::uint64_t first_number(std::string_view of) {
  const queue::Bytes16 hash = queue::hash_of(of);
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 8; ++i) number = number << 8 | hash.bytes[i];
  return number;
}

}  // namespace

std::string lock_path(const std::string& dir) {
  return dir + "/locks";
}

std::string log_root(const std::string& dir) {
  return dir + "/logs";
}

std::string log_path(const std::string& dir, const queue::Token& token) {
  const std::string number = token.job.encode();
  // What is enqueued together lies together, because a folder costs more than a file: one for 16
  // commits, by the counter that the stamp begins with.
  const auto spread = static_cast<unsigned char>(number[8] << 4 | (number[9] & 0xff) >> 4);
  const std::string folder =
      queue::to_hex(std::string_view(reinterpret_cast<const char*>(&spread), 1));
  return log_root(dir) + "/" + folder + "/" + queue::to_hex(number) + "." +
         std::to_string(token.claim);
}

std::string_view short_name(std::string_view worker) {
  if (worker.starts_with(kWorkerPrefix)) worker.remove_prefix(kWorkerPrefix.size());
  return worker;
}

std::string run_book_path(const std::string& dir, std::string_view worker) {
  return dir + "/runs/" + std::string(short_name(worker));
}

std::uint64_t worker_place(std::string_view worker) {
  return first_number(std::string("worker/").append(worker));
}

std::uint64_t job_place(const kv::Mark& number) {
  return first_number("job/" + number.encode());
}

std::string new_worker_name() {
  char host[65] = {};
  gethostname(host, sizeof host - 1);
  SystemRandom random;
  constexpr std::string_view kLetters = "abcdefghjkmnpqrstvwxyz0123456789";
  std::string tail;
  for (int i = 0; i < 4; ++i) tail += kLetters[random.below(kLetters.size())];
  return std::string(kWorkerPrefix) + (host[0] != 0 ? host : "worker") + "-" +
         std::to_string(getpid()) + "-" + tail;
}

}  // namespace sluice::worker
