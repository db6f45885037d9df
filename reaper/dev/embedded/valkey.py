"""A private Valkey server, which speaks Redis' protocol, on a free port of this machine."""

import signal
import socket
from types import TracebackType
from typing import Self

import redis

from reaper.dev.embedded import binaries, places
from reaper.dev.embedded.errors import EmbeddedError
from reaper.dev.embedded.process import KeptProcess, Plan

READY_TIMEOUT = 30.0
ATTEMPTS = 5
STOP_SIGNALS: list[tuple[int, float]] = [(signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)]


class Valkey:
    """A running server that keeps nothing on disk; a context manager, or `start` it and `stop` it."""

    def __init__(self) -> None:
        self._program = str(binaries.valkey_server())
        self._process = self._start_on_a_free_port()

    @classmethod
    def start(cls) -> Self:
        """Start a server and return when it answers."""
        return cls()

    @property
    def url(self) -> str:
        """Its address, as redis-py takes it."""
        return f"redis://127.0.0.1:{self.port}/0"

    def stop(self) -> None:
        """Shut down and remove its directory; a second call does nothing."""
        self._process.stop()

    def _start_on_a_free_port(self) -> KeptProcess:
        """Try again when somebody takes the port after it was found free and before the server binds it."""
        for attempt in range(1, ATTEMPTS + 1):
            self.port = _free_port()
            try:
                return self._start()
            except EmbeddedError as error:
                if attempt == ATTEMPTS or "Address already in use" not in str(error):
                    raise
        raise AssertionError("unreachable")

    def _start(self) -> KeptProcess:
        self._directory = str(places.scratch_directory() / places.unique_name())
        process = KeptProcess("Valkey", self._plan())
        try:
            process.wait_until(self._answers, READY_TIMEOUT)
        except BaseException:
            process.stop()
            raise
        return process

    def _plan(self) -> Plan:
        listen = ["--bind", "127.0.0.1", "--port", str(self.port)]
        keep_nothing = ["--save", "", "--appendonly", "no"]
        return Plan(
            directories=[self._directory],
            serve=[self._program, *listen, *keep_nothing, "--dir", self._directory],
            stop_signals=STOP_SIGNALS,
            removals=[self._directory],
        )

    def _answers(self) -> bool:
        """Whether the server on our port is ours: only ours works in our directory."""
        try:
            with redis.Redis(port=self.port, socket_timeout=5, decode_responses=True) as client:
                return bool(client.config_get("dir") == {"dir": self._directory})
        except redis.RedisError:
            return False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
