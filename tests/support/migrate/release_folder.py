"""Small release folders for the tests of the migrator, and ways to look at what it did."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from reaper.migrate.source import Source, installed_source
from tests.support.waiting import wait_until_true


class Workshop:
    """A release in a temporary folder: the real roles and ownership, and whatever a test puts beside them."""

    def __init__(self, folder: Path) -> None:
        self.source = Source(folder / "migrations", folder / "sql")
        self.source.migrations.mkdir(parents=True)
        self.source.sql.mkdir()
        for name in ("roles.sql", "ownership.sql"):
            (self.source.sql / name).write_text((installed_source().sql / name).read_text())

    def migration(self, name: str, sql: str, back: str = "", head: str = "") -> Path:
        """Write a migration and its way back."""
        path = self.source.migrations / f"{name}.sql"
        path.write_text(f"-- Test step {name}. More words.\n-- locks: none\n{head}\n{sql}\n")
        (self.source.migrations / f"{name}.rollback.sql").write_text(back + "\n")
        return path

    def tables(self, *names: str) -> None:
        """One migration per table, numbered from 1."""
        for number, name in enumerate(names, 1):
            sql = f"create table if not exists reaper.{name} (id int primary key);"
            self.migration(f"{number:04}.{name}", sql, f"drop table if exists reaper.{name};")

    def code(self, path: str, sql: str) -> Path:
        """Write a code file."""
        file = self.source.sql / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(sql)
        return file

    def function(self, name: str, arguments: str, returns: str, body: str) -> Path:
        """Write a function in SQL."""
        head = f"create or replace function reaper.{name}({arguments}) returns {returns}"
        return self.code(f"functions/area/{name}.sql", f"{head} language sql as $$ {body} $$;")


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


def tables(dsn: str, schema: str = "reaper") -> set[str]:
    """The tables of a schema that are not the migrator's own."""
    own = ["code_files", "migration_files", "yoyo_lock", "_yoyo_log", "_yoyo_migration", "_yoyo_version"]
    query = "select tablename from pg_tables where schemaname = %s and tablename <> all (%s)"
    return set(column(dsn, query, schema, own))


def wait_until(dsn: str, query: str, *parameters: object) -> None:
    """Come back when the query returns true."""
    wait_until_true(dsn, query, *parameters)
