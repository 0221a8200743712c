# SPDX-License-Identifier: MIT
"""Connections to one service, shared by the threads of a process."""
import contextlib
import http.client
import json
import os
import select
import socket
import ssl
import threading
import urllib.parse

from sluice.errors import Unavailable, answered_error, error_of

IDLE_MAX = 16


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def is_stale(sock):
    """Whether the other side has closed it, or sent what nobody asked for."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))


class Connections:
    """Keeps those that nobody uses for the next call. Any thread may call any member."""

    def __init__(self, url, ca_file):
        self.url, self.address = url, urllib.parse.urlsplit(url)
        if self.address.scheme not in ("http", "https", "unix"):
            raise ValueError(f"{url!r} does not begin with http://, https:// or unix:")
        self.root = "" if self.address.scheme == "unix" else self.address.path.rstrip("/")
        self.tls = (ssl.create_default_context(cafile=ca_file)
                    if self.address.scheme == "https" else None)
        self.closed = threading.Event()
        self.lock, self.process = threading.Lock(), os.getpid()
        self.idle, self.busy = [], set()  # Both guarded by the lock.

    def close(self):
        """Ends them all, also those in use, and makes no more."""
        self.closed.set()
        with self.lock:
            for connection in self.busy | set(self.idle):
                if connection.sock:
                    with contextlib.suppress(OSError):
                        # Closing alone does not wake a thread that reads.
                        socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)
            for connection in self.idle:
                connection.close()
            self.idle.clear()

    def exchange(self, method, path, data, headers, timeout):
        """What is answered: a value if it is JSON, else a text. Raises Unavailable if nothing can
        have happened, Unknown if nobody knows, and whatever Error the service answers."""
        lost = "unavailable" if method == "GET" else "commit_unknown"
        connection, keep = self._take(timeout), False
        try:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                # It may have answered before it had read all of a body that it refuses.
                connection.request(method, self.root + path, data, headers)
            response = connection.getresponse()
            text = response.read()
            keep = not response.will_close
        except http.client.InvalidURL:
            raise
        except (OSError, http.client.HTTPException) as error:
            raise error_of({"code": lost, "message": f"the answer to {method} {path} is lost: "
                            f"{error!r}"}) from error
        finally:
            self._give(connection, keep)
        if response.status >= 300:
            raise answered_error(response.status, text, response.headers, lost)
        if response.headers.get_content_type() == "application/json":
            return json.loads(text)
        return text.decode()

    def _take(self, timeout):
        if self.process != os.getpid():
            # All this belongs to the process that this one was forked from.
            for connection in self.idle:
                connection.close()
            self.lock, self.idle, self.busy = threading.Lock(), [], set()
            self.process = os.getpid()
        with self.lock:
            connection = self.idle.pop() if self.idle else None
            if connection and is_stale(connection.sock):
                connection.close()
                connection = None
            connection = connection or self._new_connection()
            self.busy.add(connection)
        try:
            connection.timeout = timeout
            if connection.sock is None:
                connection.connect()
            connection.sock.settimeout(timeout)
        except OSError as error:
            self._give(connection, False)
            raise Unavailable("unavailable", f"cannot connect to {self.url}: {error}") from error
        if self.closed.is_set():
            self._give(connection, False)
            raise Unavailable("unavailable", "the client is closed")
        return connection

    def _give(self, connection, keep):
        with self.lock:
            self.busy.discard(connection)
            if keep and not self.closed.is_set() and len(self.idle) < IDLE_MAX:
                self.idle.append(connection)
                return
        connection.close()

    def _new_connection(self):
        where = self.address
        if where.scheme == "unix":
            return UnixConnection(self.url.removeprefix("unix:"))
        if self.tls:
            return http.client.HTTPSConnection(where.hostname, where.port, context=self.tls)
        return http.client.HTTPConnection(where.hostname, where.port)
