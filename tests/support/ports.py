"""Ports that stay free while the program that listens at one of them is away, or is not there yet.

A port that the system gave out may be given to any outgoing connection as soon as nobody listens at
it. These lie outside of the range from which connections get theirs.
"""
import random
import socket

LOWEST = 10_000  # What is below belongs to well-known services.
RANGE = "/proc/sys/net/ipv4/ip_local_port_range"
_kept = []  # For callers without a test: until this process ends.


def candidates():
    with open(RANGE, encoding="ascii") as file:
        low, high = map(int, file.read().split())
    ports = range(LOWEST, low) if low - LOWEST >= 1000 else range(high + 1, 65_536)
    if len(ports) < 100:
        raise AssertionError(f"{RANGE} leaves no ports to listen at: {low} {high}")
    return ports


def free_port(case=None):
    """A port that nobody has, for TCP and UDP. Nobody else is given it until the test ends: whom it
    is for binds it only later, and two of some programs would share one without a word.
    """
    ports = candidates()
    for _ in range(1000):
        port = random.SystemRandom().choice(ports)
        name = socket.socket(socket.AF_UNIX)  # The system lets go of it with us.
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            try:
                name.bind(f"\0sluice test port {port}")
                tcp.bind(("0.0.0.0", port))
                udp.bind(("0.0.0.0", port))
            except OSError:
                name.close()
                continue
        if case:
            case.addCleanup(name.close)
        else:
            _kept.append(name)
        return port
    raise AssertionError(f"no free port between {ports[0]} and {ports[-1]}")
