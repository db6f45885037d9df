"""A private PostgreSQL server: its own data, a unix socket that only its user can reach, gone when we are."""

import os
import pwd
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Self
from urllib.parse import quote

import psycopg

from reaper.dev.embedded import binaries, directories
from reaper.dev.embedded.errors import EmbeddedError
from reaper.dev.embedded.server import ServerProcess
from reaper.dev.embedded.supervised_process import LaunchPlan

READY_TIMEOUT = 60.0
# Fast shutdown, then immediate shutdown, then the end.
STOP_SIGNALS: list[tuple[int, float]] = [
    (signal.SIGINT, 15.0),
    (signal.SIGQUIT, 10.0),
    (signal.SIGKILL, 10.0),
]
SETTINGS = {
    "listen_addresses": "",
    "max_connections": "200",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # Dynamic shared memory as files in the data directory: a killed server leaves no segment in /dev/shm.
    "dynamic_shared_memory_type": "mmap",
}
NOT_DURABLE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class Postgres(ServerProcess):
    """A running server."""

    name = "PostgreSQL"
    ready_timeout = READY_TIMEOUT
    port = 5432
    user = "postgres"

    def __init__(
        self,
        *,
        durable: bool = False,
        wal_on_disk: bool = False,
        settings: Mapping[str, str] | None = None,
        bin_dir: Path | None = None,
    ) -> None:
        self._layout = Layout(wal_on_disk, bin_dir)
        self._settings = {**SETTINGS, **({} if durable else NOT_DURABLE), **(settings or {})}
        self.host = str(self._layout.socket)
        self.bin_dir = self._layout.bin_dir
        self.version = self._layout.version
        super().__init__()

    @classmethod
    def start(
        cls,
        *,
        durable: bool = False,
        wal_on_disk: bool = False,
        settings: Mapping[str, str] | None = None,
        bin_dir: Path | None = None,
    ) -> Self:
        """Start a server and return when it accepts connections.

        Its files are in memory where there is room; `wal_on_disk` lets a commit cost what it costs elsewhere.
        """
        return cls(durable=durable, wal_on_disk=wal_on_disk, settings=settings, bin_dir=bin_dir)

    def dsn(self, dbname: str = "postgres", user: str | None = None) -> str:
        """The address of one of its databases, as a URL."""
        who, where = quote(user or self.user, safe=""), quote(self.host, safe="")
        return f"postgresql://{who}@/{quote(dbname, safe='')}?host={where}&port={self.port}"

    def _choose_addresses(self) -> None:
        """There is nothing to choose again: its directories are its own, and it has no port."""

    def _launch_plan(self) -> LaunchPlan:
        return self._layout.launch_plan(self._settings)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.dsn(), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True


class Layout:
    """Who runs the server, with which programs, and where its files are."""

    def __init__(self, wal_on_disk: bool = False, bin_dir: Path | None = None) -> None:
        self.account = _unprivileged_account() if os.geteuid() == 0 else None
        found = binaries.postgres_bin(bin_dir)
        self.version = binaries.postgres_version(found)
        self.home = self._unused_path(directories.data_directory())
        self.data = self.home / "data"
        self.socket = self._unused_path(directories.socket_directory())
        self.wal = self._unused_path(directories.scratch_directory()) if wal_on_disk else None
        self.copies = _copies(found.resolve(), self.home / "programs") if self.account else []
        self.bin_dir = Path(self.copies[0][1], "bin") if self.copies else found

    def launch_plan(self, settings: Mapping[str, str]) -> LaunchPlan:
        """How to get from nothing to a server, and back."""
        everything = {**settings, "unix_socket_directories": str(self.socket)}
        options = [word for name, value in everything.items() for word in ("-c", f"{name}={value}")]
        owned = [str(path) for path in (self.home, self.socket, self.wal) if path]
        return LaunchPlan(
            directories=owned,
            copies=self.copies,
            prepare=[self._initdb()],
            serve=[str(self.bin_dir / "postgres"), "-D", str(self.data), *options],
            stop_signals=STOP_SIGNALS,
            removals=owned,
            uid=self.account.pw_uid if self.account else None,
            gid=self.account.pw_gid if self.account else None,
            environment=_clean_environment(),
        )

    def _unused_path(self, parent: Path) -> Path:
        if self.account and not directories.open_to_all(parent):
            raise EmbeddedError(
                f"the server runs as {self.account.pw_name}, who cannot enter {parent}; "
                f"point {directories.DIRECTORY_VARIABLE} or TMPDIR to a directory that all users can enter"
            )
        return directories.unused_path(parent)

    def _initdb(self) -> list[str]:
        command = [str(self.bin_dir / "initdb"), "-D", str(self.data), "-U", Postgres.user, "-A", "trust"]
        command += ["--no-sync", "--no-instructions", "--encoding=UTF8", "--locale=C"]
        if self.wal:
            command += ["--waldir", str(self.wal / "wal")]
        if self.version >= 17:
            command += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        return command


def _unprivileged_account() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam("nobody")
    except KeyError:
        raise EmbeddedError(
            "PostgreSQL refuses to run as root, and there is no user `nobody` to run it as"
        ) from None


def _copies(bin_dir: Path, target: Path) -> list[tuple[str, str]]:
    """What to copy so that another user can run it: nothing, if the way to it is open to all."""
    if directories.open_to_all(bin_dir):
        return []
    prefix = bin_dir.parent
    package = target / prefix.parent.name
    copies = [(str(prefix), str(package / prefix.name))]
    # The wheel's libraries are found relative to its programs, so they keep their relative place.
    libraries = prefix.parent.with_name(f"{prefix.parent.name}.libs")
    if libraries.is_dir():
        copies.append((str(libraries), str(target / libraries.name)))
    return copies


def _clean_environment() -> dict[str, str]:
    """What the server may see: no PG* variable that points elsewhere, a fixed locale and time zone."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
