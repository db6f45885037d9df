"""What a session of ours needs, whatever `alter role … set` or `alter database … set` say."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import psycopg

# A role's timeouts would cut work short that is bounded in other ways; they must be off first.
TIMEOUTS = {
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_session_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
}
SETTINGS = {
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "off",
    "standard_conforming_strings": "on",
    "quote_all_identifiers": "off",
    "row_security": "on",
    # Ours are many short statements: compiling one takes longer than running it.
    "jit": "off",
    # What psycopg reads.
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    "timezone": "UTC",
    "bytea_output": "hex",
    "extra_float_digits": "1",
}
_OF_APPLICATIONS = (
    "datestyle",
    "intervalstyle",
    "timezone",
    "standard_conforming_strings",
    "default_transaction_isolation",
)
APPLICATION = tuple(f"set {name} = '{SETTINGS[name]}'" for name in _OF_APPLICATIONS)
# A login with a limit of a millisecond, on a busy server, needs many.
TRIES = 50
TRANSACTION_TIMEOUT_SINCE = 170000
_NO_TRANSACTION_TIMEOUT = "set transaction_timeout = 0"
# Behind a pooler the session is not ours alone: what is set there, others would find.
_IF_DIRECT = " where pg_catalog.pg_backend_pid() = %s"
# Names of ours are qualified; those that a caller gives are looked for where the role says.
_SEARCH_PATH = (
    "pg_catalog.set_config('search_path', pg_catalog.concat_ws(', ', 'pg_catalog',"
    # Empty where a start-up parameter says so, and a list that ends in a comma is refused.
    " nullif(pg_catalog.current_setting('search_path'), '')), false)"
)


def apply(connection: psycopg.Connection[object]) -> None:
    """Make a new session fit for our work; one of a transaction pooler gets the isolation level alone."""
    pid = connection.info.backend_pid
    timeouts = dict(TIMEOUTS)
    if connection.info.server_version >= TRANSACTION_TIMEOUT_SINCE:
        timeouts["transaction_timeout"] = "0"
    statements = (
        f"select {_calls(timeouts)}{_IF_DIRECT}",
        f"select {_calls(SETTINGS)}, {_SEARCH_PATH}{_IF_DIRECT}",
    )
    for number in range(1, TRIES + 1):
        try:
            for statement in statements:
                connection.execute(statement, (pid,))
            break
        except psycopg.errors.QueryCanceled:
            # The role's own timeout struck first; one that strikes late cancels the statement after it.
            if number == TRIES:
                raise
    connection.execute("set default_transaction_isolation = 'read committed'")


def apply_to_application(connection: psycopg.Connection[object]) -> None:
    """What the doors need; timeouts and the like are the application's own choice.

    A pooler keeps all but the last for each of its clients, so that no other client finds them.
    """
    for statement in APPLICATION:
        connection.execute(statement)


async def apply_to_async_application(connection: psycopg.AsyncConnection[Any]) -> None:
    """The same on an event loop."""
    for statement in APPLICATION:
        await connection.execute(statement)


def startup_options() -> str:
    """The same as start-up parameters, for connections that a library opens."""
    return " ".join(
        f"-c {name}={value}".replace("read committed", "read\\ committed").replace("ISO, MDY", "ISO")
        for name, value in {**TIMEOUTS, **SETTINGS}.items()
    )


def apply_to_queue(
    connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any],
) -> Awaitable[None] | None:
    """What no start-up parameter may say, since older servers end a connection for a name they do not know.

    Procrastinate's workers are asynchronous; who only defers a job is not.
    """
    if isinstance(connection, psycopg.AsyncConnection):
        return _apply_to_worker(connection)
    if connection.info.server_version >= TRANSACTION_TIMEOUT_SINCE:
        before = connection.autocommit
        connection.autocommit = True
        connection.execute(_NO_TRANSACTION_TIMEOUT)
        connection.autocommit = before
    return None


async def _apply_to_worker(connection: psycopg.AsyncConnection[Any]) -> None:
    if connection.info.server_version >= TRANSACTION_TIMEOUT_SINCE:
        before = connection.autocommit
        # The limit still holds for this transaction: one statement, not three.
        await connection.set_autocommit(True)
        await connection.execute(_NO_TRANSACTION_TIMEOUT)
        await connection.set_autocommit(before)


def _calls(settings: dict[str, str]) -> str:
    return ", ".join(f"pg_catalog.set_config('{name}', '{value}', false)" for name, value in settings.items())
