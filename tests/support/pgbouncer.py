"""PgBouncer in front of the tests' server."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.support.ports import free_port
from tests.support.waiting import wait_until

CONFIGURATION = """
[databases]
* = host={host} port={port} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
ignore_startup_parameters = {ignored}
"""


def find_pgbouncer() -> str:
    """The program; the test is skipped where it is not installed."""
    found = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if found is None:
        pytest.skip("pgbouncer is not installed: apt-get install pgbouncer")
    return found


@contextmanager
def pgbouncer(dsn: str, folder: Path, mode: str = "transaction", ignored: str = "") -> Iterator[str]:
    """The address of the same database through a pooler."""
    program, listen, server = find_pgbouncer(), free_port(), conninfo_to_dict(dsn)
    file = folder / "pgbouncer.ini"
    file.write_text(
        CONFIGURATION.format(
            host=server["host"],
            port=server["port"],
            user=server["user"],
            listen=listen,
            mode=mode,
            ignored=ignored,
        )
    )
    file.chmod(0o644)
    as_user = ["-u", "nobody"] if os.geteuid() == 0 else []
    address = make_conninfo(dsn, host="127.0.0.1", port=listen)
    with subprocess.Popen(
        [program, "-q", *as_user, str(file)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            wait_until(lambda: _answers(address), "pgbouncer answers", patience=20)
            yield address
        finally:
            process.terminate()


def _answers(address: str) -> bool:
    try:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("select 1")
    except psycopg.OperationalError:
        return False
    return True
