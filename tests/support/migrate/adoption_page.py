"""The examples of docs/adoption.md: tables and binding of each shape, and an application on them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

import psycopg

from reaper.config.tables import COLUMNS, Names, is_column
from reaper.migrate import Request

PAGE = Path(__file__).parents[3] / "docs" / "adoption.md"
_SHAPE = re.compile(r"^### (.+?)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"```(sql|toml)\n(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Shape:
    """An application's own tables, and how they are bound."""

    title: str
    tables: str
    toml: str = ""

    @property
    def names(self) -> Names:
        """The binding as the file tells it."""
        names: Names = tomllib.loads(self.toml).get("tables", {})
        return names

    @property
    def request(self) -> Request:
        """What `reaper migrate` is told."""
        return Request(told=self.names)

    def table(self, name: str) -> str:
        """The application's name of a table."""
        return self.names.get(name, {}).get("table", f"public.{name}")

    def column(self, table: str, name: str) -> str:
        """The application's name of a column."""
        return self.names.get(table, {}).get(name, name)

    @property
    def key_column(self) -> str | None:
        """The column of the object key, where the application has one."""
        told = self.names.get("content", {}).get("object_key")
        return told if told and is_column(told) else None

    @property
    def key(self) -> str:
        """SQL that gives the object key of a content row."""
        told = self.names.get("content", {}).get("object_key")
        return told or self.column("content", "content_hash")


@dataclass(frozen=True)
class Application:
    """Writes and reads as it did before reaper: by plain SQL on its own names."""

    dsn: str
    shape: Shape

    def create(self) -> None:
        """Make the tables as the page has them."""
        self.sql(self.shape.tables)

    def add(self, code: str, content: str, expires: str | None) -> None:
        """Store a paste, and its content with the first one."""
        with psycopg.connect(self.dsn) as connection:
            add(connection, self.shape, code, content, expires)

    def fill(self, contents: int = 20) -> None:
        """Three pastes for each content: of every first content all are due, of the others one or two."""
        with psycopg.connect(self.dsn) as connection:
            for n in range(contents):
                for paste in range(3):
                    due = n % 2 == 0 or (paste < 2 and n % 3 == 0)
                    add(connection, self.shape, f"c{n}-{paste}", f"h{n:03}", "-1 hour" if due else "1 year")

    def live_keys(self) -> set[str]:
        """The objects that a paste names which is not due."""
        pastes, content = self.shape.table("pastes"), self.shape.table("content")
        reference, hash_ = (self.shape.column(table, "content_hash") for table in ("pastes", "content"))
        on = f"p.{reference} = c.{hash_}"
        due = f"p.{self.shape.column('pastes', 'expires_at')} <= now()"
        query = (
            f"select {self._key('c')} from {content} c"
            f" where exists (select from {pastes} p where {on} and ({due}) is not true)"
        )
        return {row[0] for row in self.sql(query)}

    def keys(self) -> set[str]:
        """The objects that content rows name."""
        return {row[0] for row in self.sql(f"select {self._key('c')} from {self.shape.table('content')} c")}

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        """All rows of a table, all columns."""
        return self.sql(f"select * from {self.shape.table(name)} order by 1")

    def _key(self, alias: str) -> str:
        return f"({self.shape.key})" if self.shape.key_column is None else f"{alias}.{self.shape.key}"

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a statement, on a connection of its own."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def writing(self) -> Iterator[list[str]]:
        """Store pastes that never expire, one after another, on every second content; the codes of all."""
        stop, codes = Event(), list[str]()

        def write() -> None:
            with psycopg.connect(self.dsn) as connection:
                while not stop.is_set():
                    code = f"live-{len(codes)}"
                    add(connection, self.shape, code, f"h{(2 * len(codes) + 1) % 30:03}", None)
                    connection.commit()
                    codes.append(code)

        thread = Thread(target=write)
        thread.start()
        try:
            yield codes
        finally:
            stop.set()
            thread.join()


def add(
    connection: psycopg.Connection[Any], shape: Shape, code: str, content: str, expires: str | None
) -> None:
    """One paste: its content row, or one reference more, then its own row."""
    hash_, refs = shape.column("content", "content_hash"), shape.column("content", "ref_count")
    key = [shape.key_column] if shape.key_column else []
    columns = ", ".join([hash_, refs, *key])
    values = [content, 1, *(f"files/{content}.bin" for _ in key)]
    marks = ", ".join(["%s"] * len(values))
    connection.execute(
        f"insert into {shape.table('content')} as c ({columns}) values ({marks})"
        f" on conflict ({hash_}) do update set {refs} = c.{refs} + 1".encode(),
        values,
    )
    names = [shape.column("pastes", name) for name in ("short_code", "content_hash", "expires_at")]
    connection.execute(
        f"insert into {shape.table('pastes')} ({', '.join(names)})"
        " values (%s, %s, now() + %s::interval)".encode(),
        [code, content, expires],
    )


def shapes() -> list[Shape]:
    """Every example of the page, in its order."""
    page = PAGE.read_text(encoding="utf-8")
    part = page[page.index("## Shapes") : page.index("## 1.")]
    found = []
    for title, body in _SHAPE.findall(part):
        blocks = dict(_BLOCK.findall(body))
        found.append(Shape(title, blocks["sql"], blocks.get("toml", "")))
    assert all(name in COLUMNS for shape in found for name in shape.names)
    return found
