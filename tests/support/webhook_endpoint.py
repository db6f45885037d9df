"""An endpoint of a webhook: a real HTTP server that accepts, refuses, waits, redirects or hangs up as told.

It remembers every request in `heard`, and answers what `script` says: a Said, or None, upon which the
connection is reset without an answer. It runs in threads of the process that made it.
"""

import json
import socket
import ssl
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from standardwebhooks import Webhook

# The base64 of 32 bytes each.
SECRET = "whsec_" + "b2xkIG9sZCBvbGQgb2xkIG9sZCBvbGQgb2xkIG9sZCE="
NEW_SECRET = "whsec_" + "bmV3IG5ldyBuZXcgbmV3IG5ldyBuZXcgbmV3IG5ldyE="


@dataclass(frozen=True)
class Heard:
    """One request."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def event(self) -> dict[str, Any]:
        event: dict[str, Any] = json.loads(self.body)
        return event

    def verified(self, secret: str = SECRET) -> dict[str, Any]:
        """The event, as the reference library gives it after it has proved the signature."""
        event: dict[str, Any] = Webhook(secret).verify(self.body, dict(self.headers))
        return event


@dataclass(frozen=True)
class Said:
    """One answer; `drip` seconds pass before each byte of its body, or of a header without end."""

    status: int = 204
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    after: float = 0.0
    drip: float = 0.0
    endless_header: bool = False


ACCEPTED = Said()
Script = Callable[[Heard], Said | None]


def always(said: Said | None) -> Script:
    return lambda _: said


def in_turn(*answers: Said | None) -> Script:
    """The first request gets the first answer, and so on; the last one stays."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


class WebhookEndpoint:
    """The running server."""

    def __init__(self, script: Script | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.script = script or always(ACCEPTED)
        self.heard: list[Heard] = []
        self.connections = 0
        self.closing = threading.Event()
        self._server = _Server(self)
        if tls is not None:
            self._server.socket = tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._scheme = "http" if tls is None else "https"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def url(self, host: str = "127.0.0.1", path: str = "/hooks/reaper") -> str:
        return f"{self._scheme}://{host}:{self.port}{path}"

    @property
    def ids(self) -> list[str]:
        """The ids of the events, in the order in which they came."""
        return [heard.headers["webhook-id"] for heard in list(self.heard)]

    @property
    def repeated(self) -> dict[str, int]:
        """The ids that came more than once, and how often."""
        return {event: times for event, times in Counter(self.ids).items() if times > 1}

    def answer(self, heard: Heard) -> Said | None:
        self.heard.append(heard)
        said = self.script(heard)
        if said is not None and said.after:
            self.closing.wait(said.after)
        return said


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, endpoint: WebhookEndpoint) -> None:
        self.endpoint = endpoint
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.endpoint.connections += 1

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        said = self.server.endpoint.answer(Heard(self.path, headers, body))
        if said is None:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
            return
        self.send_response(said.status)
        if said.endless_header:
            self._send_forever(said.drip)
            return
        for name, value in said.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(said.body)))
        self.end_headers()
        for byte in said.body if said.drip else ():
            time.sleep(said.drip)
            self.wfile.write(bytes([byte]))
        if not said.drip:
            self.wfile.write(said.body)

    def _send_forever(self, pause: float) -> None:
        self.flush_headers()
        self.wfile.write(b"x-filler: ")
        while not self.server.endpoint.closing.wait(pause):
            self.wfile.write(b"a")

    def log_message(self, *_: object) -> None:
        """Say nothing."""
