"""What the service uses while it is abused: memory and descriptors."""
import os
import resource

from harness import SLUICED, Client, SluicedTest, wait_until

# Both ends of every connection are counted here, as the service inherits the limit.
_soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(_hard, max(_soft, 8192)), _hard))

THREADS = 2
with open(SLUICED, "rb") as _file:
    # Memory is then mostly the sanitizer's.
    SANITIZED = b"__asan_init" in _file.read()


def descriptors(service):
    return len(os.listdir(f"/proc/{service.process.pid}/fd"))


def memory_kib(service):
    """What the service has of memory that is no file's."""
    with open(f"/proc/{service.process.pid}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("RssAnon:"):
                return int(line.split()[1])
    raise AssertionError("the kernel does not tell RssAnon")


class WatchedTest(SluicedTest):
    """Tests after each of which the service has as many descriptors as before."""

    options = ("--threads", str(THREADS))

    def setUp(self):
        before = self.descriptors_at_rest()
        # Cleanups run backwards: all connections of the test are closed by then.
        self.addCleanup(lambda: wait_until(lambda: descriptors(self.service) == before,
                                           f"{before} descriptors, as there were before"))
        super().setUp()

    def descriptors_at_rest(self):
        """Each thread of the service opens its own when it serves its first connection."""
        clients = [Client(self.service) for _ in range(2 * THREADS)]
        for client in clients:
            client.get("/health")
        number = descriptors(self.service) - len(clients)
        for client in clients:
            client.close()
        wait_until(lambda: descriptors(self.service) == number, "the connections to be gone")
        return number

    def check_health(self):
        self.assertEqual(self.client.get("/health")["status"], "ok")
