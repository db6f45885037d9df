"""Small release folders for the tests of the migrator, and ways to look at what it did."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from reaper.dev.embedded import Postgres
from reaper.migrate.release_folders import ReleaseFolders, installed_folders

DEADLINE = 60.0


class Workshop:
    """A release in a temporary folder: the real roles and ownership, and whatever a test puts beside them."""

    def __init__(self, folder: Path) -> None:
        self.folders = ReleaseFolders(folder / "migrations", folder / "sql")
        self.folders.migrations.mkdir(parents=True)
        self.folders.sql.mkdir()
        for name in ("roles.sql", "ownership.sql"):
            (self.folders.sql / name).write_text((installed_folders().sql / name).read_text())

    def migration(self, name: str, sql: str, back: str = "", head: str = "") -> Path:
        """Write a migration and its way back."""
        path = self.folders.migrations / f"{name}.sql"
        path.write_text(f"-- Test step {name}. More words.\n-- locks: none\n{head}\n{sql}\n")
        rollback = f"-- Undoes test step {name}.\n-- locks: none\n{back}\n"
        (self.folders.migrations / f"{name}.rollback.sql").write_text(rollback)
        return path

    def tables(self, *names: str) -> None:
        """One migration per table, numbered from 1."""
        for number, name in enumerate(names, 1):
            sql = f"create table if not exists reaper.{name} (id int primary key);"
            self.migration(f"{number:04}.{name}", sql, f"drop table if exists reaper.{name};")

    def code(self, path: str, sql: str) -> Path:
        """Write a code file."""
        file = self.folders.sql / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(sql)
        return file

    def function(self, name: str, arguments: str, returns: str, body: str) -> Path:
        """Write a function in SQL."""
        head = f"create or replace function reaper.{name}({arguments}) returns {returns}"
        return self.code(f"functions/area/{name}.sql", f"{head} language sql as $$ {body} $$;")

    def internal(self, name: str, arguments: str, returns: str, body: str) -> Path:
        """Write one that only ours call."""
        head = f"create or replace function reaper_internal.{name}({arguments}) returns {returns}"
        return self.code(f"internal/area/{name}.sql", f"{head} language sql as $$ {body} $$;")


@contextmanager
def admin(dsn: str) -> Iterator[psycopg.Connection[Any]]:
    """An autocommit connection for looking and meddling."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


def one(dsn: str, query: str, *parameters: object) -> Any:
    """The first column of the first row."""
    with admin(dsn) as connection:
        row = connection.execute(query, parameters).fetchone()
        return row[0] if row else None


def column(dsn: str, query: str, *parameters: object) -> list[Any]:
    """The first column of all rows."""
    with admin(dsn) as connection:
        return [row[0] for row in connection.execute(query, parameters)]


def psql(server: Postgres, dsn: str, script: str) -> tuple[int, str]:
    """Run a script as a DBA would; the exit code, and what came on stderr beside notices."""
    command = [str(server.bin_dir / "psql"), "-X", "-q", "-d", dsn]
    environment = {**os.environ, "PGOPTIONS": "-c client_min_messages=warning"}
    done = subprocess.run(command, input=script, env=environment, text=True, capture_output=True, check=False)
    return done.returncode, done.stderr


def tables(dsn: str, schema: str = "reaper") -> set[str]:
    """The tables of a schema that are not the migrator's own."""
    own = ["code_files", "migration_files", "yoyo_lock", "_yoyo_log", "_yoyo_migration", "_yoyo_version"]
    query = "select tablename from pg_tables where schemaname = %s and tablename <> all (%s)"
    return set(column(dsn, query, schema, own))


def wait_until(dsn: str, query: str, *parameters: object) -> None:
    """Come back when the query returns true."""
    deadline = time.monotonic() + DEADLINE
    with admin(dsn) as connection:
        while True:
            row = connection.execute(query, parameters).fetchone()
            if row and row[0]:
                return
            assert time.monotonic() < deadline, f"never became true: {query}"
            time.sleep(0.005)
