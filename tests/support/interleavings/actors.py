"""Who moves in an exploration: actors, made of steps."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import tuple_row

Connection = psycopg.Connection[Any]
Memory = dict[str, Any]
Action = Callable[[Connection, Memory], Any]


@dataclass(frozen=True)
class Step:
    """One move of an actor; with `stop`, an error makes it the last one."""

    text: str
    action: Action
    stop: bool = False


class Actor:
    """One connection's steps, in their order; `isolation` is the default of its transactions."""

    def __init__(
        self, *steps: str | Step | Action, isolation: str = "read committed", role: str = "none"
    ) -> None:
        if not steps:
            raise ValueError("an actor without steps has nothing to interleave")
        self.steps = [_as_step(step) for step in steps]
        self.isolation = isolation
        self.role = role


def sql(text: str, *params: object, stop: bool = False) -> Step:
    """Make a step of a statement; without `params` its `%(name)s` come from the actor's memory."""

    def execute(conn: Connection, memory: Memory) -> Any:
        cursor = conn.cursor(row_factory=tuple_row)
        cursor.execute(text, params or (memory if "%(" in text else None))
        while cursor.nextset():
            pass
        return _remember(cursor, memory) if cursor.description else cursor.rowcount

    return Step(f"{text}  {params}" if params else text, execute, stop)


def _as_step(step: str | Step | Action) -> Step:
    if isinstance(step, str):
        return sql(step)
    return step if isinstance(step, Step) else Step(getattr(step, "__name__", repr(step)), step)


def _remember(cursor: psycopg.Cursor[tuple[Any, ...]], memory: Memory) -> list[tuple[Any, ...]]:
    """Keep the first row by column name, or nulls, so that a later statement never uses an older answer."""
    rows = cursor.fetchall()
    names = [column.name for column in cursor.description or ()]
    memory.update(zip(names, rows[0] if rows else [None] * len(names), strict=True))
    return rows
