"""What a process says to PostgreSQL or Redis beside all points, where nobody could be killed."""

import threading
from collections.abc import Callable
from typing import Any

import psycopg
import redis

from reaper.queries.base import Intercept

# How a connection is set up, tried and told apart; nothing follows from these.
ALLOWED = (
    "select pg_catalog.set_config",
    "set datestyle",
    "set default_transaction_isolation",
    "set intervalstyle",
    "set standard_conforming_strings",
    "set timezone",
    "set synchronous_commit",
    "select 1",
    "select c.system_identifier",
    "select id from reaper.schema_version",
)


class StrayStatements:
    """Put around all points instead of what it is given; from then on it hears all that is said elsewhere."""

    def __init__(self, around: Intercept) -> None:
        self._around = around
        self._inside = threading.local()
        self.found: set[str] = set()
        self._hear(psycopg.Cursor, "execute")
        self._hear(redis.Redis, "execute_command")
        self._hear(redis.client.Pipeline, "execute")

    def __call__(self, point: str, call: Callable[..., Any], *arguments: Any) -> Any:
        self._inside.depth = getattr(self._inside, "depth", 0) + 1
        try:
            return self._around(point, call, *arguments)
        finally:
            self._inside.depth -= 1

    def _hear(self, kind: type, name: str) -> None:
        said = getattr(kind, name)

        def heard(this: Any, *arguments: Any, **named: Any) -> Any:
            words = str(arguments[0]) if arguments else name
            if not getattr(self._inside, "depth", 0) and words and not words.startswith(ALLOWED):
                self.found.add(words)
            return said(this, *arguments, **named)

        setattr(kind, name, heard)
