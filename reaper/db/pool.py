"""Connections for many threads with short questions and less patience than a worker has."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from reaper.db import session_settings
from reaper.db.connection import Connection, parameters, register_time_loader, translate
from reaper.db.retry import NoFreeConnection, RetryPolicy

Q = TypeVar("Q")
T = TypeVar("T")

NAME = "reaper:store:0"
PATIENCE = 5.0
RETRY = RetryPolicy(patience=None, pause=0.05)


def options(dsn: str, size: int, patience: float) -> dict[str, Any]:
    """How the connections are opened and kept, in threads and on an event loop."""
    return {
        "kwargs": {
            **parameters(dsn, NAME),
            "autocommit": True,
            # A pooler on the way may pass a statement to a server that never prepared it.
            "prepare_threshold": None,
        },
        "min_size": 0,
        "max_size": size,
        "timeout": patience,
        # Its pauses between attempts grow: one that gives up makes room for another that does not pause.
        "reconnect_timeout": patience,
        "open": False,
        "name": NAME,
    }


def no_free_connection(patience: float) -> NoFreeConnection:
    """What is said to who waited for too long."""
    return NoFreeConnection(
        f"no connection to the database within {patience:g} s",
        "Is the server up? If it is, it or REAPER_STORE_CONNECTIONS allows too few.",
    )


class Pool(Generic[Q]):
    """Up to `size` connections, opened when they are needed and replaced when they break.

    `bind` makes what is asked from a connection.
    """

    def __init__(
        self, dsn: str, size: int, bind: Callable[[Connection], Q], patience: float = PATIENCE
    ) -> None:
        self._bind = bind
        self._patience = patience
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            **options(dsn, size, patience),
            configure=_configured,
            check=ConnectionPool.check_connection,
        )

    def __enter__(self) -> Self:
        self._pool.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.close()

    def call(self, ask: Callable[[Q], T]) -> T:
        """The answer; what is asked must bear being asked twice, since an answer can be lost on its way."""
        return RETRY.run(lambda: self._ask(ask))

    def _ask(self, ask: Callable[[Q], T]) -> T:
        try:
            with self._pool.connection() as connection:
                return ask(self._bind(connection))
        except PoolTimeout:
            raise no_free_connection(self._patience) from None
        except psycopg.Error as error:
            raise translate(error) from error


def _configured(connection: Connection) -> None:
    register_time_loader(connection)
    session_settings.apply_to_application(connection)
