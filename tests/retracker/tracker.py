"""A running retracker, a peer that speaks both protocols, and a tracker for it to tell."""
import os
import signal
import socket
import struct
import subprocess
import threading
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from harness import PATIENCE, RETRACKER, free_port, wait_until  # noqa: F401


def decode(data, at=0):
    """One bencoded value and where it ends."""
    if data[at:at + 1] == b"i":
        end = data.index(b"e", at)
        return int(data[at + 1:end]), end + 1
    if data[at:at + 1] in (b"l", b"d"):
        items, kind, at = [], data[at:at + 1], at + 1
        while data[at:at + 1] != b"e":
            item, at = decode(data, at)
            items.append(item)
        if kind == b"d":
            return dict(zip(items[::2], items[1::2])), at + 1
        return items, at + 1
    colon = data.index(b":", at)
    end = colon + 1 + int(data[at:colon])
    return data[colon + 1:end], end


def encode(value):
    if isinstance(value, int):
        return b"i%de" % value
    if isinstance(value, bytes):
        return b"%d:%s" % (len(value), value)
    if isinstance(value, dict):
        return b"d" + b"".join(encode(k) + encode(v) for k, v in sorted(value.items())) + b"e"
    return b"l" + b"".join(map(encode, value)) + b"e"


def compact(*peers):
    return b"".join(socket.inet_aton(host) + struct.pack(">H", port) for host, port in peers)


def peers_of(packed):
    return {(socket.inet_ntoa(packed[i:i + 4]), struct.unpack(">H", packed[i + 4:i + 6])[0])
            for i in range(0, len(packed), 6)}


class Tracker:
    """The program, listening on free ports of a loopback address."""

    def __init__(self, case, *arguments, env=None, host="127.0.0.1"):
        self.case, self.host = case, host
        with open(case.path("log"), "ab") as log:
            self.process = subprocess.Popen(
                [RETRACKER, "-l", f"{host}:0", "-u", f"{host}:0", *arguments],
                env={**case.env, **(env or {})}, cwd=case.home, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log)
        case.addCleanup(self.kill)
        self.http = int(self.process.stdout.readline().rpartition(b":")[2] or 0)
        self.udp = int(self.process.stdout.readline().rpartition(b":")[2] or 0)
        if not self.udp:
            raise AssertionError(self.said())

    def said(self):
        with open(self.case.path("log"), encoding="utf-8") as file:
            return file.read()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def uri(self, scheme):
        port = self.http if scheme == "http" else self.udp
        return f"{scheme}://127.0.0.1:{port}/announce"

    def get(self, target, headers=None, method="GET"):
        request = urllib.request.Request(f"http://{self.host}:{self.http}{target}",
                                         headers=headers or {}, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.read()

    def announce(self, info_hash, peer_id, port, **more):
        query = urllib.parse.urlencode({"info_hash": info_hash, "peer_id": peer_id, "port": port,
                                        "left": 1, **more}, quote_via=urllib.parse.quote)
        return decode(self.get("/announce?" + query))[0]

    def scrape(self, info_hash):
        files = decode(self.get("/scrape?info_hash=" + urllib.parse.quote(info_hash)))[0][b"files"]
        return files[info_hash]


class UdpPeer:
    """A client of the UDP protocol."""

    def __init__(self, port, host="127.0.0.1"):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_DGRAM)
        self.socket.settimeout(PATIENCE)
        self.socket.connect((host, port))
        self.id = struct.unpack(">IIQ", self.ask(struct.pack(">QII", 0x41727101980, 0, 5)))[2]

    def ask(self, packet):
        self.socket.send(packet)
        return self.socket.recv(4096)

    def announce(self, info_hash, peer_id, port, event=0, left=1, wanted=-1, key=0):
        answer = self.ask(struct.pack(">QII20s20sQQQIIIiH", self.id, 1, 6, info_hash, peer_id, 0,
                                      left, 0, event, 0, key, wanted, port))
        action, transaction, interval, leechers, seeders = struct.unpack(">IIIII", answer[:20])
        assert (action, transaction) == (1, 6), answer
        return interval, leechers, seeders, peers_of(answer[20:])

    def scrape(self, info_hash):
        answer = self.ask(struct.pack(">QII20s", self.id, 2, 7, info_hash))
        return struct.unpack(">IIIII", answer)[2:]

    def ask_all(self, action, packets):
        """All at once. What is answered to each after its action and transaction."""
        for number, packet in enumerate(packets):
            self.socket.send(struct.pack(">QII", self.id, action, number) + packet)
        answers = {}
        while len(answers) < len(packets):
            answer = self.socket.recv(4096)
            assert answer[:4] == struct.pack(">I", action), answer
            answers[struct.unpack(">I", answer[4:8])[0]] = answer[8:]
        assert sorted(answers) == list(range(len(packets))), sorted(answers)
        return [answers[number] for number in range(len(packets))]

    def announce_all(self, hashes, peer_id, port):
        self.ask_all(1, [struct.pack(">20s20sQQQIIIiH", info_hash, peer_id, 0, 1, 0, 0, 0, 0, -1,
                                     port) for info_hash in hashes])

    def scrape_all(self, hashes):
        return [struct.unpack(">III", answer) for answer in self.ask_all(2, hashes)]

    def close(self):
        self.socket.close()


class Server(ThreadingHTTPServer):
    request_queue_size = 128


class Upstream:
    """A tracker that writes down what it is told over HTTP, and answers as it is set to: with a
    dictionary, or by a function of the handler.
    """

    def __init__(self, case, answer=None, tls=None):
        self.told, self.clients = [], []
        self.answer = answer or {b"interval": 1800, b"peers": compact(("203.0.113.9", 99))}
        self.status = 200
        self.gate = threading.Event()
        self.gate.set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                query = self.path.partition("?")[2]
                outer.told.append({name: urllib.parse.unquote_to_bytes(value) for name, _, value in
                                   (part.partition("=") for part in query.split("&"))})
                outer.clients.append(self.client_address[0])
                outer.gate.wait(PATIENCE)
                if callable(outer.answer):
                    return outer.answer(self)
                body = encode(outer.answer)
                self.send_response(outer.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                return None

            def log_message(self, *arguments):
                pass

        self.handler, self.tls = Handler, tls
        self.resume(free_port(case))
        case.addCleanup(self.pause)
        case.addCleanup(self.gate.set)
        self.uri = f"http://127.0.0.1:{self.server.server_address[1]}/announce"

    def resume(self, port):
        self.server = Server(("127.0.0.1", port), self.handler)
        if self.tls:
            # Shaking hands is for the thread of the connection.
            self.server.socket = self.tls.wrap_socket(self.server.socket, server_side=True,
                                                      do_handshake_on_connect=False)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # Who asked may be gone by now.
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def pause(self):
        """Nobody listens any more. The port, for resume()."""
        self.server.shutdown()
        self.server.server_close()
        return self.server.server_address[1]

    def events(self):
        return [told.get("event", b"") for told in self.told]


def garbage(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", "6")
    handler.end_headers()
    handler.wfile.write(b"d3:xyz")


def reset(handler):
    """Closes the connection with a reset, as nothing is sent any more."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.rfile.close()
    handler.connection.close()
    handler.close_connection = True


class UdpUpstream:
    """The same over UDP. What it is told has the names and the form that it has over HTTP."""

    EVENTS = (None, b"completed", b"started", b"stopped")

    def __init__(self, case):
        self.told = []
        self.id = os.urandom(8)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.uri = f"udp://127.0.0.1:{self.socket.getsockname()[1]}/announce"
        thread = threading.Thread(target=self.serve, daemon=True)
        thread.start()
        case.addCleanup(self.socket.close)
        case.addCleanup(thread.join, PATIENCE)
        case.addCleanup(self.socket.sendto, b"", self.socket.getsockname())

    def serve(self):
        """Until an empty packet comes."""
        packet, sender = self.socket.recvfrom(4096)
        while packet:
            if answer := self.answer_to(packet):
                self.socket.sendto(answer, sender)
            packet, sender = self.socket.recvfrom(4096)

    def answer_to(self, packet):
        transaction = packet[12:16]
        if packet[:12] == struct.pack(">QI", 0x41727101980, 0):
            return bytes(4) + transaction + self.id
        if packet[:12] != self.id + struct.pack(">I", 1):
            return None
        info_hash, peer_id, downloaded, left, uploaded, event, _, key, wanted, port = struct.unpack(
            ">20s20sQQQIIIiH", packet[16:98])
        told = {"info_hash": info_hash, "peer_id": peer_id, "port": b"%d" % port,
                "uploaded": b"%d" % uploaded, "downloaded": b"%d" % downloaded,
                "left": b"%d" % left, "numwant": b"%d" % wanted, "key": b"%08X" % key}
        if event:
            told["event"] = self.EVENTS[event]
        self.told.append(told)
        return struct.pack(">I4sIII", 1, transaction, 1800, 0, 0)


def file_size(path):
    return os.path.getsize(path) if os.path.exists(path) else 0
