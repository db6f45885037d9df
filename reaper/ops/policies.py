"""Retention policies as Python sees them: one typed method per SQL function or view about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar

from psycopg.rows import class_row

from reaper.db.connection import Connection, translated
from reaper.errors import BadArgument

T = TypeVar("T")

_LIST = """
select name, table_name, column_name, max_age::text, batch_limit, schedule, allow_cascade, enabled,
       created_by, created_at, last_purge_at, last_deleted, rows_per_second, problems
  from reaper.policies
"""
_ADD = "select reaper.add_retention_policy(%s, %s::regclass, %s, %s::interval, %s, %s, %s)"


@dataclass(frozen=True, slots=True)
class Policy:
    """What goes when; `problems` is why the next purge would be refused."""

    name: str
    table_name: str
    column_name: str
    max_age: str
    batch_limit: int
    schedule: str
    allow_cascade: bool
    enabled: bool
    created_by: str
    created_at: datetime
    last_purge_at: datetime | None
    last_deleted: int | None
    rows_per_second: Decimal | None
    problems: list[str]


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a policy would delete now, and by which plan."""

    cutoff: datetime
    rows_aged: int
    rows_total: int
    share: Decimal
    batches: int
    rows_per_second: Decimal
    speed_is_measured: bool
    seconds: Decimal
    statement: str
    plan: str


class Policies:
    """The policies of the database behind one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def all(self) -> list[Policy]:
        """All of them by name, each with what would stop it."""
        return self._rows(Policy, _LIST)

    def add(
        self,
        name: str,
        table: str,
        column: str,
        max_age: str,
        batch_limit: int,
        schedule: str,
        allow_cascade: bool,
    ) -> None:
        """Register a policy; BadArgument says everything that speaks against it, and the fixes."""
        self._call(_ADD, name, table, column, max_age, batch_limit, schedule, allow_cascade)

    def enable(self, name: str) -> None:
        """Let purges delete."""
        self._call("select reaper.enable_policy(%s)", name)

    def disable(self, name: str) -> None:
        """Let purges delete nothing."""
        self._call("select reaper.disable_policy(%s)", name)

    def remove(self, name: str) -> None:
        """Forget the policy; the rows stay."""
        self._call("select reaper.remove_policy(%s)", name)

    def plan(self, name: str) -> Forecast:
        """What the policy would do now, enabled or not."""
        return self._rows(Forecast, "select * from reaper.plan_policy(%s)", name)[0]

    def limit(self, name: str, wanted: int | None) -> int:
        """The limit of a batch, the policy's unless one is wanted; BadArgument where it is not enabled."""
        query = "select enabled, batch_limit from reaper.retention_schedule() where name = %s"
        with translated():
            row = self._connection.execute(query, [name]).fetchone()
        if row and not row[0]:
            raise BadArgument(
                f"retention policy {name} is not enabled, so nothing was deleted",
                f"Look first: reaper policy plan {name}. Then: reaper policy enable {name}",
            )
        # A policy that is not there is purge_aged's to refuse.
        return wanted or (int(row[1]) if row else 1)

    def purge(self, name: str, limit: int) -> int:
        """Delete one batch; how many rows went."""
        with translated():
            row = self._connection.execute("select reaper.purge_aged(%s, %s)", [name, limit]).fetchone()
        return int(row[0]) if row else 0

    def purge_all(self, name: str, limit: int, stopped: Callable[[], bool]) -> Iterator[int]:
        """Delete batch after batch until one finds less than it may take; what each deleted."""
        deleted = limit
        while deleted == limit and not stopped():
            deleted = self.purge(name, limit)
            yield deleted

    def _call(self, statement: str, *values: Any) -> None:
        with translated():
            self._connection.execute(statement, values)

    def _rows(self, shape: type[T], statement: str, *values: Any) -> list[T]:
        with translated(), self._connection.cursor(row_factory=class_row(shape)) as cursor:
            return cursor.execute(statement, values).fetchall()
