"""Copies of a database as operators make them: dumps, restored under another name or on another server."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

from reaper.dev.embedded import Postgres
from reaper.migrate.release_folders import installed_folders
from tests.support.postgres_node import Node


@contextmanager
def restored(source: str, server: Postgres | Node, name: str) -> Iterator[str]:
    """The address of a database on that server into which a dump of the source was restored."""
    with psycopg.connect(server.dsn(), autocommit=True) as admin:
        admin.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        # Roles are no part of a dump.
        admin.execute((installed_folders().sql / "roles.sql").read_text().encode())
        try:
            _copy(server.bin_dir, source, server.dsn(name))
            yield server.dsn(name)
        finally:
            admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def _copy(bin_dir: Path, source: str, target: str) -> None:
    dump = subprocess.run(
        [bin_dir / "pg_dump", "--format=custom", source], capture_output=True, check=True
    ).stdout
    restore = [bin_dir / "pg_restore", "--exit-on-error", "--dbname", target]
    subprocess.run(restore, input=dump, capture_output=True, check=True)
