"""One way to read rows: as a dataclass, as tuples, or as a single value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from psycopg.rows import class_row

from reaper.db.connection import Connection, translated

T = TypeVar("T")


class Rows:
    """The answers of one connection; errors of the server are raised as ours."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def all(self, shape: type[T], statement: str, *values: Any) -> list[T]:
        """Every row, as a dataclass whose fields are the columns."""
        with translated(self.connection), self.connection.cursor(row_factory=class_row(shape)) as cursor:
            return cursor.execute(statement, values).fetchall()

    def one(self, shape: type[T], statement: str, *values: Any) -> T | None:
        """The first row, if there is any."""
        rows = self.all(shape, statement, *values)
        return rows[0] if rows else None

    def only(self, shape: type[T], statement: str, *values: Any) -> T:
        """The row of a statement that always has exactly one."""
        [row] = self.all(shape, statement, *values)
        return row

    def stream(self, shape: type[T], statement: str, *values: Any) -> Iterator[T]:
        """Row by row, where there may be more than memory holds."""
        with translated(self.connection), self.connection.cursor(row_factory=class_row(shape)) as cursor:
            yield from cursor.stream(statement, values)

    def tuples(self, statement: str, *values: Any, binary: bool = False) -> list[tuple[Any, ...]]:
        """Every row, plain."""
        with translated(self.connection):
            return self.connection.execute(statement, values, binary=binary).fetchall()

    def flag(self, statement: str, *values: Any) -> bool:
        """Whether the first column of the first row is true."""
        return bool(self.value(statement, *values))

    def value(self, statement: str, *values: Any) -> Any:
        """The first column of the first row; None where there is no row."""
        rows = self.tuples(statement, *values)
        return rows[0][0] if rows else None
