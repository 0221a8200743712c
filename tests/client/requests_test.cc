// SPDX-License-Identifier: MIT
#include "client/requests.h"

#include <gtest/gtest.h>
#include <sluice/client.h>

namespace sluice::client {
namespace {

using namespace std::chrono_literals;

TEST(ClientRequests, names_are_encoded_in_paths) {
  EXPECT_EQ(queue_path("mail").value(), "/v1/queues/mail");
  EXPECT_EQ(queue_path("a/b c", "/jobs").value(), "/v1/queues/a%2Fb%20c/jobs");
  EXPECT_EQ(job_path("q", "j", "/cancel").value(), "/v1/queues/q/jobs/j/cancel");
  EXPECT_EQ(job_path("q", "\xc3\xa4?").value(), "/v1/queues/q/jobs/%C3%A4%3F");
  EXPECT_FALSE(queue_path(""));
  EXPECT_FALSE(job_path("q", ""));
  EXPECT_FALSE(job_path("", "j"));
  EXPECT_FALSE(queue_path("\xff"));
}

TEST(ClientRequests, a_job_says_only_what_it_has) {
  EXPECT_EQ(job_text({.queue = "q"}).value(), "{}");
  EXPECT_EQ(job_text({.queue = "q", .payload = "[1]", .delay = 1500us}).value(),
            R"({"payload":[1],"delay_ms":2})");
  EXPECT_EQ(job_text({.queue = "q", .payload = "a\"b", .hold = true}).value(),
            R"({"payload_base64":"YSJi","hold":true})");
}

TEST(ClientRequests, what_http_cannot_carry_is_refused) {
  const std::string bad = "\xff";
  for (const queue::NewJob& job : std::vector<queue::NewJob>{{.id = bad},
                                                             {.group = bad},
                                                             {.label = bad},
                                                             {.unique = queue::Unique{.key = "k"}},
                                                             {.after = {{.id = "a"}}},
                                                             {.batch = bad}}) {
    EXPECT_EQ(status_of(job_text(job)).code(), Code::invalid_argument);
    EXPECT_FALSE(ack_text({.queue = "q", .children = {job}}));
  }
  EXPECT_FALSE(ack_text({.queue = "q", .result = bad}));
  EXPECT_FALSE(ack_text({.queue = ""}));
  EXPECT_FALSE(claim_text({.queues = {bad}}, {}));
  EXPECT_FALSE(claim_text({.queues = {"q"}, .worker = bad}, {}));
  EXPECT_FALSE(claim_text({.queues = {"q"}, .skip_groups = {bad}}, {}));
  // These are for people: what is no text in them is shown as such.
  EXPECT_TRUE(fail_text({.queue = "q", .error = bad}));
  EXPECT_TRUE(extend_text({.queue = "q", .progress = bad}));
}

TEST(ClientRequests, a_part_holds_as_much_as_its_limits_allow) {
  const std::vector<queue::NewJob> small(kRequestJobsMax + 1, {.queue = "q"});
  EXPECT_EQ(first_part(small).count, kRequestJobsMax);
  EXPECT_EQ(first_part(std::span(small).subspan(1)).count, kRequestJobsMax);
  const std::vector<queue::NewJob> large(
      3, {.queue = "q", .payload = "\"" + std::string(kRequestBytesMax / 2 - 100, 'x') + "\""});
  EXPECT_EQ(first_part(large).count, 2u);
  const std::vector<queue::NewJob> huge(
      2, {.queue = "q", .payload = "\"" + std::string(kRequestBytesMax, 'x') + "\""});
  EXPECT_EQ(first_part(huge).count, 1u);
  const std::vector<queue::NewJob> mixed = {{.queue = "q"}, {.queue = "q"}, {.queue = "r"}};
  EXPECT_EQ(first_part(mixed).count, 2u);
  EXPECT_EQ(first_part(mixed).body.value(), R"({"jobs":[{},{}]})");
}

}  // namespace
}  // namespace sluice::client
