"""Connections for many threads with short questions and less patience than a worker has."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from reaper import db
from reaper.db.session import TRANSIENT, TRIES
from reaper.errors import DatabaseError, Unreachable
from reaper.queries import Queries

T = TypeVar("T")

NAME = "reaper:store:0"
PATIENCE = 5.0


class Pool:
    """Up to `size` connections, opened when they are needed and replaced when they break."""

    def __init__(self, dsn: str, size: int, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._pool: ConnectionPool[db.Connection] = ConnectionPool(
            kwargs={
                **db.parameters(dsn, NAME),
                "autocommit": True,
                # A pooler on the way may pass a statement to a server that never prepared it.
                "prepare_threshold": None,
            },
            min_size=0,
            max_size=size,
            timeout=patience,
            # Its pauses between attempts grow: one that gives up makes room for another that does not pause.
            reconnect_timeout=patience,
            configure=_configured,
            check=ConnectionPool.check_connection,
            open=False,
            name=NAME,
        )

    def __enter__(self) -> Self:
        self._pool.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.close()

    def call(self, ask: Callable[[Queries], T]) -> T:
        """The answer; what is asked must bear being asked twice, since an answer can be lost on its way."""
        attempt = 1
        while True:
            try:
                return self._ask(ask)
            except (Unreachable, DatabaseError) as error:
                if attempt == TRIES or not _may_pass(error):
                    raise
            time.sleep(0.05 * attempt * random.uniform(0.5, 1.5))
            attempt += 1

    def _ask(self, ask: Callable[[Queries], T]) -> T:
        try:
            with self._pool.connection() as connection:
                return ask(Queries(connection))
        except PoolTimeout:
            raise _NoConnection(
                f"no connection to the database within {self._patience:g} s",
                "Is the server up? If it is, it or REAPER_STORE_CONNECTIONS allows too few.",
            ) from None
        except psycopg.Error as error:
            raise db.translate(error) from error


class _NoConnection(Unreachable):
    """There was none to be had, and that was waited for already."""


def _configured(connection: db.Connection) -> None:
    db.teach(connection)
    connection.execute("set default_transaction_isolation = 'read committed'")


def _may_pass(error: Unreachable | DatabaseError) -> bool:
    if isinstance(error, DatabaseError):
        return error.sqlstate in TRANSIENT
    return not isinstance(error, _NoConnection)
