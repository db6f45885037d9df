"""Rows of an asyncio connection: the methods of `Rows`, each with an answer that is awaited."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NoReturn, TypeVar

import psycopg
from psycopg.rows import AsyncRowFactory, class_row, tuple_row

from reaper.db.connection import translate
from reaper.db.missing_rights import grant_that_helps_async

T = TypeVar("T")

AsyncConnection = psycopg.AsyncConnection[Any]


class Answer:
    """An answer that has not come yet; whoever forgets to await it is told, instead of reading it as true."""

    def __init__(self, ask: Callable[[], Any]) -> None:
        self._ask = ask

    def __await__(self) -> Generator[Any, None, Any]:
        return self._ask().__await__()  # type: ignore[no-any-return]

    def _is_not_awaited(self, *_: object) -> NoReturn:
        raise TypeError("this query does more with the answer than to return it: it cannot be awaited")

    __bool__ = __int__ = __str__ = __iter__ = __len__ = __getitem__ = _is_not_awaited


class AsyncRows:
    """The answers of one connection; errors of the server are raised as ours."""

    def __init__(self, connection: AsyncConnection) -> None:
        self.connection = connection

    def all(self, shape: type[T], statement: str, *values: Any) -> Answer:
        """Every row, as a dataclass whose fields are the columns."""
        return Answer(lambda: self._rows(class_row(shape), statement, values))

    def one(self, shape: type[T], statement: str, *values: Any) -> Answer:
        """The first row, if there is any."""
        return self._then(_first, class_row(shape), statement, values)

    def only(self, shape: type[T], statement: str, *values: Any) -> Answer:
        """The row of a statement that always has exactly one."""
        return self._then(_only, class_row(shape), statement, values)

    def flag(self, statement: str, *values: Any) -> Answer:
        """Whether the first column of the first row is true."""
        return self._then(lambda rows: bool(_value(rows)), tuple_row, statement, values)

    def value(self, statement: str, *values: Any) -> Answer:
        """The first column of the first row; None where there is no row."""
        return self._then(_value, tuple_row, statement, values)

    def _then(
        self, pick: Callable[[list[Any]], Any], factory: AsyncRowFactory[Any], statement: str, values: Any
    ) -> Answer:
        async def picked() -> Any:
            return pick(await self._rows(factory, statement, values))

        return Answer(picked)

    async def _rows(self, factory: AsyncRowFactory[Any], statement: str, values: Any) -> list[Any]:
        try:
            async with self.connection.cursor(row_factory=factory) as cursor:
                return await (await cursor.execute(statement, values)).fetchall()
        except psycopg.Error as error:
            ours = translate(error)
            if isinstance(error, psycopg.errors.InsufficientPrivilege):
                ours.hint = ours.hint or await grant_that_helps_async(error, self.connection)
            raise ours from error


def _first(rows: list[Any]) -> Any:
    return rows[0] if rows else None


def _only(rows: list[Any]) -> Any:
    [row] = rows
    return row


def _value(rows: list[Any]) -> Any:
    return rows[0][0] if rows else None
