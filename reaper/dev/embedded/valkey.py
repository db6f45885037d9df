"""A private Valkey server, which speaks Redis' protocol, on a free port of this machine."""

import redis

from reaper.dev.embedded import binaries, directories
from reaper.dev.embedded.server import ServerProcess, free_port
from reaper.dev.embedded.supervised_process import LaunchPlan


class Valkey(ServerProcess):
    """A running server that keeps nothing on disk."""

    name = "Valkey"

    def __init__(self) -> None:
        self._program = str(binaries.valkey_server())
        super().__init__()

    @property
    def url(self) -> str:
        """Its address, as redis-py takes it."""
        return f"redis://127.0.0.1:{self.port}/0"

    def _choose_addresses(self) -> None:
        self.port = free_port()
        self._directory = str(directories.unused_path(directories.scratch_directory()))

    def _launch_plan(self) -> LaunchPlan:
        listen = ["--bind", "127.0.0.1", "--port", str(self.port)]
        keep_nothing = ["--save", "", "--appendonly", "no"]
        return LaunchPlan(
            directories=[self._directory],
            serve=[self._program, *listen, *keep_nothing, "--dir", self._directory],
            removals=[self._directory],
        )

    def _answers(self) -> bool:
        """Whether the server on our port is ours: only ours works in our directory."""
        try:
            with redis.Redis(port=self.port, socket_timeout=5, decode_responses=True) as client:
                return bool(client.config_get("dir") == {"dir": self._directory})
        except redis.RedisError:
            return False
