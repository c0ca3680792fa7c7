"""HTTP/1.1 as bytes, without a library between the clock and the socket."""

import json
import socket


class Response:
    """One answer. `fields` has lower-case names; `body` is what Content-Length announced."""

    __slots__ = ("status", "fields", "body")

    def __init__(self, status, fields, body):
        self.status = status
        self.fields = fields
        self.body = body

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:300].decode(errors='replace')}"


def render(method, path, body=None, fields=()):
    """The bytes of a request. `body` may be bytes or anything that JSON can say."""
    if body is None:
        content = b""
        lines = []
    else:
        content = body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()
        lines = [f"Content-Length: {len(content)}"]
    lines += [f"{name}: {value}" for name, value in fields]
    head = "".join(line + "\r\n" for line in [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *lines])
    return head.encode() + b"\r\n" + content


def take_response(received):
    """Cuts one complete response off the front of the bytearray `received`; None while it is not complete."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return None
    status_line, *lines = bytes(received[:end]).decode("latin-1").split("\r\n")
    fields = {}
    for line in lines:
        name, _, value = line.partition(":")
        fields[name.lower()] = value.strip()
    begin = end + 4
    if fields.get("transfer-encoding") == "chunked":
        body, complete = _take_chunks(received, begin)
    else:
        complete = begin + int(fields.get("content-length", 0))
        body = bytes(received[begin:complete]) if len(received) >= complete else None
    if body is None:
        return None
    response = Response(int(status_line.split(" ", 2)[1]), fields, body)
    del received[:complete]
    return response


def _take_chunks(received, begin):
    """A body in chunks and its end; None while it is not complete."""
    body = bytearray()
    while (line := received.find(b"\r\n", begin)) >= 0:
        size = int(received[begin:line], 16)
        begin = line + 2 + size + 2
        if len(received) < begin:
            break
        body += received[line + 2:line + 2 + size]
        if size == 0:
            return bytes(body), begin
    return None, begin


class Connection:
    """A blocking keep-alive connection, to a port or to the `path` of a Unix domain socket. Not for HEAD, whose answers
    announce a body that does not come."""

    def __init__(self, port, timeout=60, path=None):
        if path:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(timeout)
            self.socket.connect(path)
        else:
            self.socket = socket.create_connection(("127.0.0.1", port), timeout)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = bytearray()

    def exchange(self, request):
        """Sends the bytes of one request and waits for its answer."""
        self.socket.sendall(request)
        while (response := take_response(self.received)) is None:
            more = self.socket.recv(1 << 18)
            if not more:
                raise ConnectionError("the daemon closed the connection instead of answering")
            self.received += more
        return response

    def request(self, method, path, body=None, fields=(), expect=(200, 201)):
        """One request that has to succeed; an answer other than expected is an error that says what came."""
        response = self.exchange(render(method, path, body, fields))
        if response.status not in expect:
            raise ConnectionError(f"{method} {path} answered {response}")
        return response

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
