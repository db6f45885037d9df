"""Dead letters: objects whose deletion was given up; one typed method per SQL function about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from psycopg.rows import class_row

from reaper.db.connection import Connection, translated

T = TypeVar("T")

# By name: a newer schema may have more columns.
_ONE = """
select queue_id, backend, object_key, size_bytes, attempts, last_error, queued_at, buried_at,
       cause, content_hash, name_retired
  from reaper.dlq
"""
_PAGE = (
    _ONE
    + """
 where (%(backend)s::text is null or backend = %(backend)s) and (%(cause)s::text is null or cause = %(cause)s)
   and (%(ids)s::bigint[] is null or queue_id = any (%(ids)s))
 order by buried_at desc, queue_id desc
 limit %(limit)s
"""
)
_COUNT = """
select backend, cause, objects, bytes, retired_names, first_buried_at, last_buried_at
  from reaper.count_dlq(%(backend)s, %(cause)s, %(ids)s, %(before)s)
"""
_RETRY = """
select reaper.retry_dlq(%(backend)s, %(cause)s, %(ids)s, %(reason)s, p_buried_before => %(before)s)
"""
_WRITE_OFF = """
select reaper.write_off_dlq(%(backend)s, %(cause)s, %(ids)s, %(reason)s,
                             p_buried_before => %(before)s, p_free_names => %(free_names)s)
"""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which dead letters are meant; None = any. `before` leaves out what is given up after one has looked."""

    backend: str | None = None
    cause: str | None = None
    ids: Sequence[int] | None = None
    before: datetime | None = None

    def values(self) -> dict[str, Any]:
        """As the statements take them."""
        ids = None if self.ids is None else list(self.ids)
        return {"backend": self.backend, "cause": self.cause, "ids": ids, "before": self.before}


@dataclass(frozen=True, slots=True)
class Group:
    """The dead letters of one backend and one cause."""

    backend: str
    cause: str
    objects: int
    bytes: int
    retired_names: int
    first_buried_at: datetime
    last_buried_at: datetime


@dataclass(frozen=True, slots=True)
class Letter:
    """One object whose deletion was given up."""

    queue_id: int
    backend: str
    object_key: str
    size_bytes: int | None
    attempts: int
    last_error: str
    queued_at: datetime
    buried_at: datetime
    cause: str
    content_hash: str | None
    name_retired: bool


class Letters:
    """An operator's questions and decisions on one connection; decisions are audited."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def now(self) -> datetime:
        """The time by which letters are given up."""
        found = self._value("select reaper.clock()", {})
        assert isinstance(found, datetime)
        return found

    def count(self, choice: Choice) -> list[Group]:
        """How many there are, by backend and cause."""
        return self._rows(Group, _COUNT, choice.values())

    def newest(self, choice: Choice, limit: int) -> list[Letter]:
        """The ones given up last."""
        return self._rows(Letter, _PAGE, {**choice.values(), "limit": limit})

    def one(self, number: int) -> Letter | None:
        """The one of that number."""
        found = self._rows(Letter, _ONE + " where queue_id = %(number)s", {"number": number})
        return found[0] if found else None

    def retry(self, choice: Choice, reason: str | None) -> Iterator[int]:
        """Owe the deletions again, batch after batch; how many were moved by each."""
        return self._batches(_RETRY, {**choice.values(), "reason": reason})

    def write_off(self, choice: Choice, reason: str, free_names: bool) -> Iterator[int]:
        """Forget the letters, batch after batch; how many were forgotten by each."""
        return self._batches(_WRITE_OFF, {**choice.values(), "reason": reason, "free_names": free_names})

    def _batches(self, statement: str, values: dict[str, Any]) -> Iterator[int]:
        while settled := int(self._value(statement, values)):
            yield settled

    def _value(self, statement: str, values: dict[str, Any]) -> Any:
        with translated():
            row = self._connection.execute(statement, values).fetchone()
        return row[0] if row else None

    def _rows(self, shape: type[T], statement: str, values: dict[str, Any]) -> list[T]:
        with translated(), self._connection.cursor(row_factory=class_row(shape)) as cursor:
            return cursor.execute(statement, values).fetchall()
