"""Connections that send bytes as they are, and read answers as strictly as they are written."""
import json
import re
import socket
from email.message import Message

from harness import PATIENCE, Reply

STATUS_LINE = re.compile(rb"HTTP/1\.1 ([1-5]\d\d) [ -~]*")
FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+): ([ -~]*)")


def head(first, *lines):
    """The head of a request with a Host and these lines."""
    return b"\r\n".join((first, b"Host: x", *lines, b"", b""))


def request(method, path, body=None):
    """A request as everybody sends it."""
    lines = []
    if body is not None:
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = [b"Content-Type: application/json", b"Content-Length: %d" % len(body)]
    return head(f"{method} {path} HTTP/1.1".encode(), *lines) + (body or b"")


def push(team, name, data=None):
    return request("POST", "/queue/push", {"teamId": team, "job": {
        "id": name, "data": data, "priority": 0, "listenable": False}})


def chunked(path, *chunks):
    """A request whose body is sent in these chunks, each of bytes."""
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return head(f"POST {path} HTTP/1.1".encode(), b"Content-Type: application/json",
                b"Transfer-Encoding: chunked") + body + b"0\r\n\r\n"


class Raw:
    """A connection to a service on 127.0.0.1 or on a socket file; it is closed with the test."""

    def __init__(self, case, receive_bytes=None):
        path = getattr(case.service, "path", None)
        self.socket = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
        case.addCleanup(self.socket.close)
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(path or ("127.0.0.1", case.service.port))
        if not path:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def send(self, data, piece=None):
        """Whether all of it could be sent, at once or in pieces of this size."""
        try:
            for at in range(0, len(data), piece or len(data) or 1):
                self.socket.sendall(data[at:at + piece] if piece else data)
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def finish(self):
        """Nothing more will be sent."""
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.socket.close()

    def fill(self):
        try:
            more = self.socket.recv(1 << 18)
        except ConnectionResetError:
            more = b""
        self.buffer += more
        return bool(more)

    def answer(self):
        """The next answer; None if the connection was closed before it began."""
        while b"\r\n\r\n" not in self.buffer:
            if not self.fill():
                if self.buffer:
                    raise AssertionError(f"half an answer: {self.buffer[:200]!r}")
                return None
        text, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        reply = read_head(text)
        length = int(reply.headers["content-length"] or 0)
        pieces, missing = [self.buffer], length - len(self.buffer)
        while missing > 0:
            self.buffer = b""
            if not self.fill():
                raise AssertionError(f"{missing} bytes of the body are missing: {text!r}")
            pieces.append(self.buffer)
            missing -= len(self.buffer)
        body = b"".join(pieces)
        self.buffer = body[length:]
        return reply._replace(body=body[:length])

    def answers(self):
        """All that come until the connection is closed."""
        return list(iter(self.answer, None))


def read_head(text):
    """A reply without its body; what is not well-formed fails."""
    first, *lines = text.split(b"\r\n")
    status = STATUS_LINE.fullmatch(first)
    if not status:
        raise AssertionError(f"not a status line: {first!r}")
    headers = Message()
    for line in lines:
        field = FIELD.fullmatch(line)
        if not field or field[1].decode() in headers:
            raise AssertionError(f"not a header, or twice: {line!r}")
        headers[field[1].decode()] = field[2].decode()
    return Reply(int(status[1]), headers, b"")
