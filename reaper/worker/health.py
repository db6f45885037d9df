"""/live, /ready and /metrics over HTTP, for the supervisor of the process."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from reaper.errors import ConfigError, ReaperError
from reaper.queries.status import STALLED, Health
from reaper.worker.options import LOCAL

LOOP_SILENCE = 30.0
# As long as PostgreSQL is given by default before it takes a worker's batches.
HEARTBEAT_SILENCE = 60.0
# So long an answer of PostgreSQL counts, however often a supervisor asks.
VERDICT_AGE = 10.0
# The process itself works; of the system nothing is known yet, so it is not called ok.
UNKNOWN = "verdict unknown: PostgreSQL has not told it yet"


class ProcessHealth:
    """Whether the process works: its event loop, its heartbeat, whether it takes jobs; and the verdict."""

    def __init__(
        self, heartbeat_age: Callable[[], float], ask: Callable[[], Health], verdict_age: float = VERDICT_AGE
    ) -> None:
        self.taking_jobs = False
        self._heartbeat_age = heartbeat_age
        self._ask = ask
        self._verdict_age = verdict_age
        self._asking = threading.Lock()
        self._known: Health | None = None
        self._known_until = 0.0
        self._last_loop_at = time.monotonic()

    def record_loop(self) -> None:
        """The event loop has made a round."""
        self._last_loop_at = time.monotonic()

    def restart_reason(self) -> str | None:
        """Why this process ought to be restarted; None when it ought not."""
        if time.monotonic() - self._last_loop_at > LOOP_SILENCE:
            return "event loop blocked for 30 s"
        if self._heartbeat_age() > HEARTBEAT_SILENCE:
            return "no heartbeat reached PostgreSQL for 60 s"
        return None

    def not_ready_reason(self) -> str | None:
        """Why this process does no work at the moment; None when it does."""
        return self.restart_reason() or (None if self.taking_jobs else "not taking jobs")

    def verdict(self) -> Health | None:
        """What reaper.health says of the whole system; where PostgreSQL does not answer, what it said last.

        One prober asks at a time, the others need not wait for the answer.
        """
        if time.monotonic() >= self._known_until and self._asking.acquire(blocking=False):
            try:
                self._known = self._ask()
            except ReaperError:
                # How long the database may be away is for the heartbeat to say.
                pass
            finally:
                self._known_until = time.monotonic() + self._verdict_age
                self._asking.release()
        return self._known

    def ready(self) -> tuple[bool, str]:
        """Whether this process works in a system that does not stand still; the verdict and its reasons."""
        trouble = self.not_ready_reason()
        if trouble:
            return False, trouble
        health = self.verdict()
        if health is None:
            return True, UNKNOWN
        return health.verdict != STALLED, "\n".join([health.verdict, *health.reasons])


class HealthServer:
    """Answers /live, /ready and /metrics on threads of its own; without a port it does nothing."""

    def __init__(
        self, port: int | None, health: ProcessHealth, registry: CollectorRegistry, address: str = LOCAL
    ) -> None:
        self._server = None if port is None else _listen(address, port, _handler(health, registry))

    @property
    def port(self) -> int | None:
        """Where it listens; told, because port 0 lets the system choose."""
        return self._server.server_address[1] if self._server else None

    def __enter__(self) -> Self:
        if self._server:
            threading.Thread(target=self._server.serve_forever, name="health", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server:
            self._server.shutdown()
            self._server.server_close()


def _listen(address: str, port: int, handler: type[BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
    try:
        family, _, _, _, place = socket.getaddrinfo(
            address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        server = type("Server", (ThreadingHTTPServer,), {"address_family": family})
        return server(place[:2], handler)  # type: ignore[no-any-return]
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {address}, port {port}: {error.strerror}",
            "Choose another --health-port, or an address of this host as --health-address.",
        ) from None


def _handler(health: ProcessHealth, registry: CollectorRegistry) -> type[BaseHTTPRequestHandler]:
    def text(good: bool, words: str) -> tuple[int, str, bytes]:
        return (200 if good else 503), "text/plain; charset=utf-8", f"{words}\n".encode()

    def live() -> tuple[int, str, bytes]:
        trouble = health.restart_reason()
        return text(trouble is None, trouble or "ok")

    answers: dict[str, Callable[[], tuple[int, str, bytes]]] = {
        "/live": live,
        "/ready": lambda: text(*health.ready()),
        "/metrics": lambda: (200, CONTENT_TYPE_LATEST, generate_latest(registry)),
    }

    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            answer = answers.get(self.path.partition("?")[0])
            status, kind, body = (
                answer() if answer else (404, "text/plain", b"try /live, /ready or /metrics\n")
            )
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Probes are no news."""

    return Handler
