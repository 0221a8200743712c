"""Requests about whose end two parsers could disagree (RFC 9112, section 11.2), and other things
that are no requests. What follows one of them on its connection must never be executed.
"""
from raw import head

BODY = b'{"jobId":"j"}'
LENGTH = b"Content-Length: %d" % len(BODY)
CHUNKED = b"Transfer-Encoding: chunked"
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
GET = b"GET /health HTTP/1.1\r\nHost: x\r\n"


def post(*lines, body=BODY, version=b"1.1"):
    return head(b"POST /queue/release HTTP/" + version, b"Content-Type: application/json",
                *lines) + body


def in_chunks(body):
    return post(CHUNKED, body=body)


BOTH = [post(*lines, body=body) for lines in (
    (LENGTH, CHUNKED), (CHUNKED, LENGTH), (b"Content-Length: 0", CHUNKED),
    (CHUNKED, b"Content-Length: 0"), (b"Content-Length: %d" % len(CHUNKS), CHUNKED),
    (CHUNKED, b"Content-Length: %d" % len(CHUNKS)), (b"content-length: 4", b"X: y", CHUNKED),
    (b"TRANSFER-ENCODING: CHUNKED", b"X: y", LENGTH)) for body in (BODY, CHUNKS)]

LENGTHS = [post(*(b"Content-Length: " + value for value in values)) for values in (
    (b"13", b"13"), (b"13", b"0"), (b"0", b"13"), (b"13", b"14"), (b"13, 13",), (b"13,14",),
    (b"13,",), (b",13",), (b"-1",), (b"-0",), (b"-13",), (b"+13",), (b"0x0d",), (b"0xd",), (b"d",),
    (b"1e1",), (b"13.0",), (b"",), (b"1 3",), (b"13;",), (b'"13"',), (b"1_3",),
    ("\uff11\uff13".encode(),), (b"13\x0b",), (b"\x0c13",), (b"13\x00",), (b"99999999",),
    (b"9223372036854775808",), (b"18446744073709551616",), (b"18446744073709551629",),
    (b"340282366920938463463374607431768211469",), (b"1" * 1000,), (b"twelve",))]

CODINGS = [post(b"Transfer-Encoding: " + value, body=CHUNKS) for value in (
    b"xchunked", b"chunkedx", b"chunked, chunked", b"chunked,", b",chunked", b"identity", b"gzip",
    b"gzip, chunked", b"chunked, gzip", b"chunked, identity", b'"chunked"', b"chunked;q=1",
    b"\x0bchunked", b"chunked\x0b", b"\x00chunked", b"chunked\x00", b"chunked\x7f", b"chun ked",
    b"chunked x", b"\xa0chunked", b"\xc2\xa0chunked", b"chunk\xc5\xbf", b"", b"=chunked", b"0")]

CODINGS += [post(*lines, body=CHUNKS) for lines in (
    (CHUNKED, CHUNKED), (b"Transfer-Encoding: identity", CHUNKED),
    (CHUNKED, b"Transfer-Encoding: identity"), (CHUNKED, b"transfer-encoding:"),
    (b"Transfer-Encoding : chunked",), (b"Transfer-Encoding\t: chunked",),
    (b"Transfer-Encoding\x0b: chunked",), (b"Transfer-Encoding\x00: chunked",),
    (b"\x0bTransfer-Encoding: chunked",), (b"Transfer-Encoding:", b" chunked"),
    (b"Transfer-Encoding:", b"\tchunked"), (b"X: y", b" Transfer-Encoding: chunked"),
    (b" Transfer-Encoding: chunked",), (b"X: y\rTransfer-Encoding: chunked",),
    (b"X: y\nTransfer-Encoding: chunked",), (b"X: y\n\rTransfer-Encoding: chunked",),
    (b"Transfer-Encoding\r\n: chunked",), (b"Transfer-Encoding chunked",),
    (b"Transfer_Encoding: chunked",))]
CODINGS += [post(CHUNKED, body=CHUNKS, version=b"1.0")]

# Where a line, a name or the head ends.
HEADS = [post(*lines) for lines in (
    (LENGTH, b"X: y", b" z"), (LENGTH, b"X: y", b"\tz"), (b"Content-Length:", b" 13"),
    (b"Content-Length : 13",), (b"Content-Length\t: 13",), (b" Content-Length: 13",),
    (b"X: y\nContent-Length: 13",), (b"X: y\rContent-Length: 13",), (b"X\x00: y", LENGTH),
    (b"X: y\x00", LENGTH), (b"X: \x01", LENGTH), (b"X: \x7f", LENGTH), (b": y", LENGTH),
    (b"X", LENGTH), (b"X Y: z", LENGTH), (b"X(: y", LENGTH), (b"\xc3\xbc: y", LENGTH),
    (b"Host: x", LENGTH), (b"Host: y", LENGTH), (b"host: x", LENGTH), (b"Host:", LENGTH),
    (LENGTH, b"Expect: 200-ok"), (LENGTH, b"Expect: 100-continue, x"))]
HEADS += [
    GET.replace(b"\r\n", b"\n") + b"\n", GET.replace(b"\r\n", b"\r") + b"\r",
    GET.replace(b"\r\n", b"\n") + b"\r\n", GET + b"\n", GET[:-2] + b"\n\r\n", GET[:-2] + b"\n\n",
    GET[:-2] + b"\r\r\n\r\n", GET + b"\r\r\n", GET + b"\r\n"[:1], b"GET /health HTTP/1.1\r\n\r\n",
    b"GET /health HTTP/1.1\r\nX-Host: x\r\n\r\n"]

LINES = [line + b"\r\nHost: x\r\n\r\n" for line in (
    b"GET /health", b"GET /health ", b"/health HTTP/1.1", b" GET /health HTTP/1.1",
    b"GET  /health HTTP/1.1", b"GET /health  HTTP/1.1", b"GET /health HTTP/1.1 ",
    b"GET\t/health\tHTTP/1.1", b"GET /health\x0bHTTP/1.1", b"GET /hea lth HTTP/1.1",
    b"GET /health\x00 HTTP/1.1", b"GET\x00 /health HTTP/1.1", b"\x00GET /health HTTP/1.1",
    b"GET /health\x7f HTTP/1.1", b"GET /\xc3\xbc HTTP/1.1", b"GET /health\r HTTP/1.1",
    b"GET /health#x HTTP/1.1", b"G@T /health HTTP/1.1", b" /health HTTP/1.1", b"GET",
    b"GET /health http/1.1", b"GET /health HTTP/1.2", b"GET /health HTTP/1.10",
    b"GET /health HTTP/01.1", b"GET /health HTTP/2.0", b"GET /health HTTP/0.9",
    b"GET /health HTTP/1", b"GET /health HTTP/", b"GET /health HTTP/1,1", b"GET /health XTTP/1.1",
    b"GET http://x/health HTTP/1.1", b"GET //x@y:1/health HTTP/9.9", b"GET x:80 HTTP/1.1",
    b"CONNECT x:80 HTTP/1.1", b"OPTIONS * HTTP/1.1", b"GET health HTTP/1.1",
    b"GET \\health HTTP/1.1", b"GET ?x HTTP/1.1")]

OTHERS = [
    b"GET /health\r\n",  # HTTP/0.9
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0",
    b"\x16\x03\x01\x00\xc4\x01\x00\x00\xc0\x03\x03" + bytes(range(190)),
    b"\x80\x2e\x01\x03\x01" + b"\0" * 40,
    b"EHLO x\r\n", b"*1\r\n$4\r\nPING\r\n", b"\r\n\r\n", b"\n", b"\0", b"\xff" * 500,
    b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
]

CHUNK_SIZES = [in_chunks(size + b"\r\n" + BODY + b"\r\n0\r\n\r\n") for size in (
    b"", b" d", b"\td", b"+d", b"-d", b"0xd", b"0Xd", b"d d", b"dh", b"g", b"d,", b"d=", b"d\x00",
    b"d\x0b", b"\x00d", b"0d\xa0", b"ffffffffffffffff", b"fffffffffffffff3", b"1000000000000000d",
    b"8000000000000000d", b"f" * 100, b"7fffffffffffffff", b"80000000", b"200001", b";a=b",
    b"d;a=\x00", b"d;a=\x07", b"d;a=\rb", b"d;a=\nb", b"d;\r", b"d\r;a", b"d;" + b"x" * 300,
    b"0" * 300 + b"d", "\uff44".encode())]

CHUNKS_WRONG = [in_chunks(body) for body in (
    b"d\n" + BODY + b"\r\n0\r\n\r\n", b"d\r" + BODY + b"\r\n0\r\n\r\n", b"d" + CHUNKS[1:].replace(
        b"\r\n", b"\n"), b"d\r\n" + BODY + b"\n0\r\n\r\n", b"d\r\n" + BODY + b"0\r\n\r\n",
    b"d\r\n" + BODY + b"x\r\n0\r\n\r\n", b"c\r\n" + BODY + b"\r\n0\r\n\r\n",
    b"e\r\n" + BODY + b"\r\n0\r\n\r\n", b"d\r\n" + BODY + b"\r\n0\n\n",
    b"d\r\n" + BODY + b"\r\n0\r\n\n", b"d\r\n" + BODY + b"\r\n0\r\n\r", b"d\r\n" + BODY + b"\r\n0",
    b"d\r\n" + BODY + b"\r\n0\r\n", b"d\r\n" + BODY + b"\r\n", BODY,
    b"d;\n" + BODY + b"\r\n0\r\n\r\n", b"d\r\n" + BODY + b"\r\n0;x\n\r\n")]

TRAILERS = [in_chunks(CHUNKS[:-2] + trailer + b"\r\n\r\n") for trailer in (
    b"X: y", b"Content-Length: 5", b"Transfer-Encoding: chunked", b"Host: y", b"X: y\r\nZ: y",
    b" X: y", b"X", b"X: y\x00")]

CORPUS = {"both framings": BOTH, "lengths": LENGTHS, "codings": CODINGS, "heads": HEADS,
          "request lines": LINES, "other protocols": OTHERS, "sizes of chunks": CHUNK_SIZES,
          "chunks": CHUNKS_WRONG, "trailers": TRAILERS}

# What is unusual, but says clearly where it ends.
CLEAR = [post(line) for line in (
    b"Content-Length:13", b"Content-Length:  13\t ", b"content-LENGTH: 13",
    b"Content-Length: 0013")]
CLEAR += [post(line, body=CHUNKS) for line in (
    b"Transfer-Encoding:chunked", b"Transfer-Encoding: \t chunked \t",
    b"transfer-encoding: CHUNKED", b"Transfer-Encoding:\tChunked")]
CLEAR += [in_chunks(body) for body in (
    b"D\r\n" + BODY + b"\r\n0\r\n\r\n", b"00d\r\n" + BODY + b"\r\n000\r\n\r\n",
    b'd;a=b;c="d"\r\n' + BODY + b"\r\n0;x\r\n\r\n",
    b"".join(b"1\r\n%c\r\n" % byte for byte in BODY) + b"0\r\n\r\n")]
CLEAR += [GET + b"\r\n", GET + b"X:\r\nY: \r\nZ: \xff\t\xfe\r\n\r\n",
          GET + LENGTH + b"\r\n\r\n" + BODY]
