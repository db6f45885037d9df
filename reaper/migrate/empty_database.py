"""A database that is not there, as planning sees it: new, empty, of the oldest version that we support.

With it `reaper migrate --sql` prints a fresh installation for review where no server is at hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

from reaper.db.connection import Connection
from reaper.migrate.preflight import OLDEST_SERVER

NAME = "new"
ADMINISTRATOR = "postgres"


class Answer:
    """The rows of one question."""

    def __init__(self, *rows: tuple[Any, ...]) -> None:
        self._rows = rows

    def fetchone(self) -> tuple[Any, ...] | None:
        """The first."""
        return self._rows[0] if self._rows else None

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All."""
        return list(self._rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._rows)


class EmptyDatabase:
    """Answers what a plan asks of a database in which there is nothing, for a superuser."""

    info = SimpleNamespace(server_version=OLDEST_SERVER)

    def execute(self, query: str, values: Sequence[Any] | Mapping[str, Any] | None = None) -> Answer:
        """What such a database would say; of its own tables and roles, nothing."""
        match values:
            case [str(table)] if "parse_ident" in query:
                return Answer((table.split("."),))
            case [str(schema), str(table)] if "format('%%I.%%I'" in query:
                return Answer((f"{schema}.{table}",))
            case [list(schemas)] if "has_database_privilege" in query:
                return Answer((NAME, ADMINISTRATOR, True, schemas))
        for part, row in _SAID.items():
            if part in query:
                return Answer(row)
        return Answer()


_SAID: Mapping[str, tuple[Any, ...]] = {
    "pg_is_in_recovery": (False,),
    "server_encoding": (NAME, "UTF8"),
    "select exists": (False,),
    "to_regclass": (None,),
    "rolcreaterole": (ADMINISTRATOR, True, True),
}


def empty_database() -> Connection:
    """For who only plans: nothing else of a connection is there."""
    return cast(Connection, EmptyDatabase())
