"""A minimal HTTP/1.1 client. It uses sockets without an HTTP library, which would add its own time to measured times."""

import json
import socket


class Response:
    """A response. `fields` maps lower-case names to values. `body` contains no chunk headers."""

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
    """Returns the bytes of a request. `body` is bytes, or a value that becomes JSON."""
    if body is None:
        content = b""
        lines = []
    else:
        content = body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()
        lines = [f"Content-Length: {len(content)}"]
    lines += [f"{name}: {value}" for name, value in fields]
    head = "".join(line + "\r\n" for line in [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *lines])
    return head.encode() + b"\r\n" + content


def pop_response(received):
    """Removes a complete response from the front of the bytearray `received` and returns it, or returns None if the
    response is not complete."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return None
    status_line, *lines = bytes(received[:end]).decode("latin-1").split("\r\n")
    fields = {}
    for line in lines:
        name, _, value = line.partition(":")
        fields[name.lower()] = value.strip()
    body_start = end + 4
    if fields.get("transfer-encoding") == "chunked":
        body, response_end = _parse_chunks(received, body_start)
    else:
        response_end = body_start + int(fields.get("content-length", 0))
        body = bytes(received[body_start:response_end]) if len(received) >= response_end else None
    if body is None:
        return None
    response = Response(int(status_line.split(" ", 2)[1]), fields, body)
    del received[:response_end]
    return response


def _parse_chunks(received, position):
    """Returns the chunked body that begins at the position, and the position of its end. The body is None if it is not
    complete."""
    body = bytearray()
    while (line_end := received.find(b"\r\n", position)) >= 0:
        size = int(received[position:line_end], 16)
        position = line_end + 2 + size + 2
        if len(received) < position:
            break
        body += received[line_end + 2:line_end + 2 + size]
        if size == 0:
            return bytes(body), position
    return None, position


class Connection:
    """A blocking keep-alive connection to a port of 127.0.0.1, or to the Unix domain socket at `path`. It does not support
    HEAD, because a response to HEAD has a Content-Length without a body."""

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
        """Sends the bytes of one request and returns the response."""
        self.socket.sendall(request)
        while (response := pop_response(self.received)) is None:
            more = self.socket.recv(1 << 18)
            if not more:
                raise ConnectionError("the daemon closed the connection instead of answering")
            self.received += more
        return response

    def request(self, method, path, body=None, fields=(), expect=(200, 201)):
        """Sends a request and returns the response. Raises ConnectionError if the status is not in `expect`."""
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
