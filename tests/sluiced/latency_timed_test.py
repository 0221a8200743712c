"""How quick the service is beside others, and when somebody waits for it."""
from crowd import HEALTH, CrowdTest, SlowReadersTest
from harness import LONG, main
from polls import PollTest
from timed import percentile, seconds_of

IDLE = 2000 if LONG else 500
# Of the slowest hundredth: so many times what it is alone, and a stall or two of the machine.
FACTOR, STALLS_S = 10, 0.1
# A claim that is not woken looks by itself every second.
WAKE_S_MAX = 0.25


class Idle(CrowdTest):
    def times(self, number=400):
        """How long pushes take, and pops with completions."""
        times = []
        for index in range(number):
            times.append(seconds_of(lambda: self.client.push(self.team, f"j{index}")))
            times.append(seconds_of(lambda: self.client.complete(self.client.pop(self.team))))
        return times

    def test_idle_connections_take_nobody_any_time(self):
        """Timed: that others do not get slower is all that there is to see."""
        self.times(100)
        alone = percentile(self.times(), 0.99)
        self.crowd(IDLE, HEALTH)
        beside = percentile(self.times(), 0.99)
        print(f"figure sluiced.p99_ms_alone {alone * 1000:.2f}")
        print(f"figure sluiced.p99_ms_beside_idle {beside * 1000:.2f}")
        self.assertLess(beside, FACTOR * alone + STALLS_S)


class SlowReaders(SlowReadersTest):
    def test_readers_that_do_not_read_hold_nobody_up(self):
        """Timed: one that holds others up for a moment shows in nothing but their time."""
        alone = percentile([seconds_of(lambda: self.client.count(self.team))
                            for _ in range(200)], 0.99)
        self.slow_readers(10)
        times = [seconds_of(lambda: self.client.count(self.team)) for _ in range(200)]
        times += [seconds_of(lambda: self.client.push("other", f"j{number}"))
                  for number in range(200)]
        beside = percentile(times, 0.99)
        print(f"figure sluiced.p99_ms_beside_slow_readers {beside * 1000:.2f}")
        self.assertLess(beside, FACTOR * alone + STALLS_S)


class Polls(PollTest):
    def test_a_claim_that_waits_is_woken(self):
        """Timed: it would also be answered unwoken, at its next look a second later."""
        times = []
        for _ in range(500 if LONG else 40):
            poll = self.poll()

            def enqueue_and_take():
                self.client.enqueue(self.queue)
                self.client.ack(poll.leases()[0])

            times.append(seconds_of(enqueue_and_take))
        middle = percentile(times, 0.5)
        print(f"figure sluiced.long_poll_wake_ms {middle * 1000:.2f} {max(times) * 1000:.2f}")
        self.assertLess(middle, WAKE_S_MAX)


if __name__ == "__main__":
    main()
