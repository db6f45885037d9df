"""PostgreSQL servers whose data outlives them: they are killed, started again, copied and promoted.

    with Node.made() as primary:
        primary.start()
        primary.crash()
        primary.start()

Nothing is synced to the disk: what a killed process has written, the kernel still has. What it had not yet
written is lost, and the server is told to take its time with that.
"""

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import psycopg

from reaper.dev.embedded import Postgres
from reaper.dev.embedded.postgres import READY_TIMEOUT, SETTINGS, Layout
from reaper.dev.embedded.supervised_process import SupervisedProcess

OURS = {
    "fsync": "off",
    "full_page_writes": "off",
    # Commits that nobody waits for stay in memory until somebody else's are waited for.
    "wal_writer_delay": "10s",
    # A standby that lost its primary looks for it no longer than a test wants to wait.
    "wal_retrieve_retry_interval": "100ms",
    # The keeper of the files and the server are two processes, and neither writes to a terminal.
    "log_min_messages": "warning",
}
CRASHES = {"immediate": signal.SIGQUIT, "kill": signal.SIGKILL}
# Keeps the directories for as long as this process lives, and says when they are filled.
WAIT = ["sh", "-c", 'touch "$0" && exec sleep 1000000']


class Node:
    """One data directory, and the server on it while there is one."""

    def __init__(self, fill: Sequence[str] | None = None, settings: Mapping[str, str] | None = None) -> None:
        self._layout = Layout()
        self.bin_dir = self._layout.bin_dir
        plan = self._layout.launch_plan({**SETTINGS, **OURS, **(settings or {})})
        prepare = plan.prepare if fill is None else [[*fill, "-D", str(self._layout.data)]]
        ready = self._layout.home / "filled"
        self._files = SupervisedProcess(
            "the files of PostgreSQL",
            replace(plan, prepare=prepare, serve=[*WAIT, str(ready)], stop_signals=[(signal.SIGTERM, 5.0)]),
        )
        self._files.wait_until(ready.exists, READY_TIMEOUT)
        self._plan = replace(plan, directories=[], removals=[], copies=[], prepare=[])
        self._process: SupervisedProcess | None = None

    @classmethod
    def made(cls, settings: Mapping[str, str] | None = None) -> Self:
        """A new, empty cluster; not started."""
        return cls(settings=settings)

    def copied(self, settings: Mapping[str, str] | None = None) -> "Node":
        """A standby of this running server; not started."""
        copy = [str(self.bin_dir / "pg_basebackup"), "-h", self.host, "-p", str(Postgres.port)]
        return Node([*copy, "-U", Postgres.user, "-R", "-X", "stream", "-c", "fast", "--no-sync"], settings)

    @property
    def host(self) -> str:
        """The directory of its socket."""
        return str(self._layout.socket)

    def dsn(self, dbname: str = "postgres") -> str:
        """The address of one of its databases."""
        return f"postgresql://{Postgres.user}@/{dbname}?host={self.host}&port={Postgres.port}"

    def start(self) -> None:
        """Start, recover where that is needed, and return when it accepts connections."""
        self._process = SupervisedProcess("PostgreSQL", self._plan)
        self._process.wait_until(self._answers, READY_TIMEOUT)

    def crash(self, how: str = "kill") -> None:
        """End at once: nothing that is in memory is written any more. Returns when no process is left."""
        assert self._process is not None
        os.kill(self.pid, CRASHES[how])
        self.stop()

    def stop(self) -> None:
        """End in good order; a second call does nothing."""
        if self._process is not None:
            self._process.stop()
            self._process = None

    def promote(self) -> None:
        """Make a standby the primary; returns when it accepts writes."""
        promoted = self.sql("select pg_promote()")
        assert promoted == [(True,)], promoted

    def reload(self, setting: str, value: str) -> None:
        """Change a setting of the running server."""
        self.sql(f"alter system set {setting} = '{value}'")
        self.sql("select pg_reload_conf()")

    @property
    def pid(self) -> int:
        """The postmaster."""
        return int((self._layout.data / "postmaster.pid").read_text().splitlines()[0])

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Ask the maintenance database."""
        with psycopg.connect(self.dsn(), autocommit=True) as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def log(self) -> str:
        """The end of the server's log."""
        return self._process.log() if self._process else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._files.stop()

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.dsn(), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True
