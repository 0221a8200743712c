"""Proxies as there are: SOCKS5 and CONNECT of HTTP, with and without a login."""
import base64
import socket
import struct
import threading

from harness import PATIENCE


def receive(connection, count):
    """Exactly so many bytes."""
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise ConnectionError("it ended")
        data += more
    return data


def pass_on(source, to):
    try:
        while data := source.recv(65536):
            to.sendall(data)
        to.shutdown(socket.SHUT_WR)
    except OSError:
        pass


class Proxy:
    """Writes down where it was asked to lead, and leads there; names are its own to look up."""

    def __init__(self, case, login=None, names=None):
        self.login, self.names, self.asked = login, names or {}, []
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = f"127.0.0.1:{self.listening.getsockname()[1]}"
        case.addCleanup(self.listening.close)
        case.addCleanup(self.listening.shutdown, socket.SHUT_RDWR)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        connection.settimeout(PATIENCE)
        try:
            with connection, self.greet(connection) as other:
                there = threading.Thread(target=pass_on, args=(connection, other), daemon=True)
                there.start()
                pass_on(other, connection)
                there.join()
        except (OSError, AssertionError):
            pass

    def lead(self, host, port):
        self.asked.append((host, port))
        return socket.create_connection((self.names.get(host, host), port), timeout=PATIENCE)


class Socks5(Proxy):
    def greet(self, connection):
        version, count = receive(connection, 2)
        methods = receive(connection, count)
        assert version == 5
        method = 2 if self.login else 0
        if method not in methods:
            connection.sendall(b"\x05\xff")
            raise ConnectionError("no login")
        connection.sendall(bytes([5, method]))
        if self.login:
            receive(connection, 1)
            user = receive(connection, receive(connection, 1)[0])
            password = receive(connection, receive(connection, 1)[0])
            good = (user, password) == self.login
            connection.sendall(bytes([1, 0 if good else 1]))
            if not good:
                raise ConnectionError("wrong login")
        version, command, _, kind = receive(connection, 4)
        assert (version, command) == (5, 1)
        if kind == 3:
            host = receive(connection, receive(connection, 1)[0]).decode()
        else:
            family, size = (socket.AF_INET, 4) if kind == 1 else (socket.AF_INET6, 16)
            host = socket.inet_ntop(family, receive(connection, size))
        (port,) = struct.unpack(">H", receive(connection, 2))
        other = self.lead(host, port)
        connection.sendall(b"\x05\x00\x00\x01" + bytes(6))
        return other


class HttpProxy(Proxy):
    def greet(self, connection):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += receive(connection, 1)
        lines = head.decode().split("\r\n")
        method, place, _ = lines[0].split(" ")
        assert method == "CONNECT"
        wanted = self.login and base64.b64encode(b":".join(self.login)).decode()
        if wanted and f"Proxy-Authorization: Basic {wanted}" not in lines:
            connection.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            raise ConnectionError("wrong login")
        host, _, port = place.rpartition(":")
        other = self.lead(host.strip("[]"), int(port))
        connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        return other
