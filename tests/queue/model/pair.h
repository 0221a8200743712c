// SPDX-License-Identifier: MIT
// The real queues and the model side by side: each command is given to both, and the answers and
// everything that can be seen must be the same.
#pragma once

#include <rapidcheck.h>

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "queue/testing.h"
#include "tests/queue/model/commands.h"
#include "tests/queue/model/model.h"

namespace sluice::queue::model {

class Pair {
 public:
  Pair(const Bench& bench, bool about_flows) : bench_(bench), about_flows_(about_flows) {
    keep_time();
  }

  void perform(const Command& command);
  void compare(std::size_t step);

 private:
  /// A token as both know it.
  struct Held {
    std::string queue;
    queue::Token real;
    Token told;
  };

  void keep_time() { model_.now = in_ms(bench_.now()); }
  /// The ids that the real queues have drawn are told to the model before it does the same.
  void learn_ids();
  /// `told` is the model's call: it comes after the real one.
  template <class Told>
  void same(const char* what, const Status& real, Told told) {
    learn_ids();
    agree(what, real, told());
  }
  void agree(const char* what, const Status& real, Code expected);
  void agree(const char* what, const Result<std::string>& real, const Added& expected);

  NewJob new_job(const Command& command, std::size_t offset = 0) const;
  /// With what goes beyond a single job; `near` is the job before it, or the one that is acked.
  NewJob new_job(const Command& command, std::size_t offset, const JobRef& near) const;
  std::vector<After> pick_after(const Command& command, const JobRef& near) const;
  JobRef pick_job(const std::string& queue, std::size_t index) const;
  JobRef pick_job(const Command& command) const;
  std::string pick_batch(const std::string& queue, std::size_t index) const;
  Held pick_token(std::size_t index) const;
  JobRef job_of(const Held& held) const;
  AckRequest new_ack(const Command& command, const Held& held, const JobRef& near,
                     std::size_t children) const;
  NewBatch new_batch(const Command& command) const;

  void perform_enqueue(const Command& command);
  void perform_claim(const Command& command);
  void perform_ack(const Command& command);
  void perform_worker_verb(const Command& command);
  void perform_operator_verb(const Command& command);
  void perform_edit(const Command& command);
  void perform_queue_verb(const Command& command);
  void perform_add_after(const Command& command);
  void perform_batch_verb(const Command& command);
  void perform_schedule_verb(const Command& command);
  void sweep();

  void compare_queue(const std::string& queue, std::size_t step);
  void compare_events(const std::string& queue);
  std::string real_text(const std::string& queue, std::size_t page);
  std::string model_text(const std::string& queue) const;
  std::string real_flows(const std::string& queue);
  std::string model_flows(const std::string& queue) const;

  const Bench& bench_;
  const bool about_flows_;
  Model model_;
  std::vector<Held> tokens_;
  std::map<std::pair<std::string, std::string>, queue::Token> highest_;
  std::map<std::string, std::string> cursors_;  ///< By queue: how far its events were read.
};

}  // namespace sluice::queue::model
