"""What every question to PostgreSQL has: a connection, and a mark that says whether it changes anything.

Each public method of an area calls one SQL function or reads one view, and is marked `commits` or `reads`.
A marked method is a fault point of its name: all calls pass `intercept`, which does nothing in production and
in tests kills the process, or loses the answer.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import Enum
from functools import partial, wraps
from typing import Any, ClassVar, Protocol, Self, TypeVar, cast

from reaper.db.async_rows import AsyncConnection, AsyncRows
from reaper.db.connection import Connection
from reaper.db.rows import Rows

M = TypeVar("M", bound=Callable[..., Any])


class Effect(Enum):
    """What a call leaves behind."""

    COMMITS = "commits"
    READS = "reads"


class Intercept(Protocol):
    """Stands around every call; a thread may be in one while another is in the next."""

    def __call__(self, point: str, call: Callable[..., Any], *arguments: Any) -> Any:
        """Make the call or do not; what is returned or raised is what the caller gets."""


def directly(point: str, call: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ARG001
    """Make the call."""
    return call(*arguments)


class Area:
    """The functions of one folder of sql/functions, on one connection.

    Threads may share it; they then wait for each other.
    """

    # The methods of this class and its parents, by name.
    effects: ClassVar[dict[str, Effect]] = {}

    def __init__(
        self, connection: Connection, intercept: Intercept = directly, rows: Rows | None = None
    ) -> None:
        self._db = rows or Rows(connection)
        self._intercept = intercept

    @classmethod
    def awaited(cls, connection: AsyncConnection, intercept: Intercept = directly) -> Self:
        """The same questions on an asyncio connection: what a method returns must then be awaited."""
        return cls(cast(Connection, connection), intercept, cast(Rows, AsyncRows(connection)))

    def __init_subclass__(cls) -> None:
        methods = {name: m for name, m in inspect.getmembers(cls, inspect.isfunction) if name[0] != "_"}
        unmarked = [name for name, method in methods.items() if not hasattr(method, "effect")]
        if unmarked:
            raise TypeError(f"{cls.__name__}: neither @commits nor @reads: {', '.join(unmarked)}")
        cls.effects = {name: method.effect for name, method in methods.items()}  # type: ignore[attr-defined]


def commits(method: M) -> M:
    """Mark a method whose call changes something and commits."""
    return _point(method, Effect.COMMITS)


def reads(method: M) -> M:
    """Mark a method whose call changes nothing."""
    return _point(method, Effect.READS)


def _point(method: M, effect: Effect) -> M:
    @wraps(method)
    def call(self: Area, *arguments: Any, **named: Any) -> Any:
        bound = partial(method, self, **named)
        return self._intercept(method.__name__, bound, *arguments)

    setattr(call, "effect", effect)  # noqa: B010
    return cast(M, call)
