"""/live, /ready and /metrics over HTTP, for the supervisor of the process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from reaper.errors import ConfigError

LOOP_SILENCE = 30.0
# As long as PostgreSQL is given by default before it takes a worker's batches.
HEARTBEAT_SILENCE = 60.0


class ProcessHealth:
    """Whether the process works: its event loop, its heartbeat, and whether it takes jobs."""

    def __init__(self, heartbeat_age: Callable[[], float]) -> None:
        self.taking_jobs = False
        self._heartbeat_age = heartbeat_age
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


class HealthServer:
    """Answers /live, /ready and /metrics on threads of its own; without a port it does nothing."""

    def __init__(self, port: int | None, health: ProcessHealth, registry: CollectorRegistry) -> None:
        self._server = None if port is None else _listen(port, _handler(health, registry))

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


def _listen(port: int, handler: type[BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
    try:
        return ThreadingHTTPServer(("", port), handler)
    except OSError as error:
        raise ConfigError(
            f"cannot listen on port {port}: {error.strerror}", "Choose another --health-port."
        ) from None


def _handler(health: ProcessHealth, registry: CollectorRegistry) -> type[BaseHTTPRequestHandler]:
    def verdict(why: str | None) -> tuple[int, str, bytes]:
        return (503 if why else 200), "text/plain; charset=utf-8", f"{why or 'ok'}\n".encode()

    answers: dict[str, Callable[[], tuple[int, str, bytes]]] = {
        "/live": lambda: verdict(health.restart_reason()),
        "/ready": lambda: verdict(health.not_ready_reason()),
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
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Probes are no news."""

    return Handler
