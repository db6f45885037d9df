"""Procrastinate's connections, deaf to what it cannot use: any login may NOTIFY, also with nonsense."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import psycopg
from procrastinate import PsycopgConnector
from procrastinate.connector import Notify

JOB_INSERTED, ABORT_REQUESTED = "job_inserted", "abort_job_requested"
Ignored = Callable[[str], None]
AnyConnection = psycopg.Connection[Any] | psycopg.AsyncConnection[Any]
# A start-up parameter that a server does not know ends the connection, so this one is set afterwards.
_TRANSACTION_TIMEOUT_SINCE = 170000
_NO_TRANSACTION_TIMEOUT = "set transaction_timeout = 0"


class QueueConnector(PsycopgConnector):
    """A notification is a hint: without it the worker looks a second later, so a bad one is only counted."""

    def __init__(self, ignored: Ignored = lambda _channel: None, **options: Any) -> None:
        super().__init__(configure=set_no_transaction_timeout, **options)
        self._ignored = ignored

    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        """Pass on that a job was inserted, and nothing else."""

        async def hear(*, channel: str, payload: str) -> None:
            kind = notification_type(payload)
            if kind == JOB_INSERTED:
                await on_notification(channel=channel, payload=payload)
            # Requests to abort are also in the table, where only those write who may; the worker polls it.
            elif kind != ABORT_REQUESTED:
                self._ignored(channel)

        await super().listen_notify(on_notification=hear, channels=channels)


def set_no_transaction_timeout(connection: AnyConnection) -> Awaitable[None] | None:
    """Take a role's time limit of transactions off a new connection, of the worker or of who defers a job."""
    if isinstance(connection, psycopg.AsyncConnection):
        return _set_for_worker(connection)
    if connection.info.server_version >= _TRANSACTION_TIMEOUT_SINCE:
        before = connection.autocommit
        connection.autocommit = True
        connection.execute(_NO_TRANSACTION_TIMEOUT)
        connection.autocommit = before
    return None


async def _set_for_worker(connection: psycopg.AsyncConnection[Any]) -> None:
    if connection.info.server_version >= _TRANSACTION_TIMEOUT_SINCE:
        before = connection.autocommit
        # The limit still holds for this transaction: one statement, not three.
        await connection.set_autocommit(True)
        await connection.execute(_NO_TRANSACTION_TIMEOUT)
        await connection.set_autocommit(before)


def notification_type(payload: str) -> object:
    """What a notification says that happened; None where it is not one of procrastinate's."""
    try:
        said = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    return said.get("type") if isinstance(said, dict) else None
