"""Connections, and the translation of the server's errors into ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import psycopg
from psycopg.abc import Buffer
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.datetime import TimestamptzLoader

from reaper.db import session_settings
from reaper.db.missing_rights import grant_that_helps
from reaper.errors import ConfigError, DatabaseError, ReaperError, Unreachable, by_sqlstate

Connection = psycopg.Connection[Any]

CONNECT_TIMEOUT = 10
# A server that vanished without a word is noticed within a minute; a unix socket ignores all of it.
_KEEPALIVE = {
    "keepalives_idle": 20,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 50_000,
}
# Shut down by an administrator, crashed, starting up.
_SERVER_GOES_AWAY = ("57P01", "57P02", "57P03")
_HINTS = {
    "25006": "Is the server a standby, or does the login have default_transaction_read_only?"
    " Run: alter role … reset default_transaction_read_only",
    "57014": "If it was not cancelled, statement_timeout of the login is too short."
    " Run: alter role … reset statement_timeout",
}
_BAD_DSN = "the database address is neither a postgresql:// URL nor a list of key=value pairs"
_BAD_DSN_HINT = "In a URL write the special characters of a password percent-encoded: @ as %40, / as %2F."


def parse_dsn(dsn: str) -> dict[str, Any]:
    """The parts of a libpq connection string."""
    try:
        return conninfo_to_dict(dsn)
    except psycopg.Error:
        # libpq quotes the part that it does not understand, which may be the password.
        raise ConfigError(_BAD_DSN, _BAD_DSN_HINT) from None


def connect(dsn: str, application_name: str, autocommit: bool = True) -> Connection:
    """Open a connection under our name; Unreachable when there is none to be had."""
    hint = "Is the server up, and are host, port, user and database in REAPER_DATABASE_URL right?"
    try:
        connection: Connection = psycopg.connect(**parameters(dsn, application_name), autocommit=True)
        hint = "If the server is up, run: alter role … reset idle_session_timeout; it may be too short."
        register_time_loader(connection)
        # Outside of a transaction, whose rollback would undo them.
        session_settings.apply(connection)
        connection.autocommit = autocommit
        return connection
    except psycopg.Error as error:
        raise Unreachable(f"cannot connect to the database: {_one_line(error)}", hint) from None


def parameters(dsn: str, application_name: str) -> dict[str, Any]:
    """How every connection of ours is opened: with a time limit, in UTF-8, and under our name."""
    parts: dict[str, Any] = {"connect_timeout": CONNECT_TIMEOUT, **_KEEPALIVE, **parse_dsn(dsn)}
    # Neither the database's encoding nor PGCLIENTENCODING: our texts have characters that others lack.
    return {**parts, "client_encoding": "UTF8", "application_name": application_name}


def register_time_loader(connection: psycopg.BaseConnection[Any]) -> None:
    """Make a new connection read PostgreSQL's times, all of them."""
    connection.adapters.register_loader("timestamptz", _Time)


# Python has years of up to four digits.
_DIGITS_OF_A_YEAR = 4
_FIRST = datetime.min.replace(tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)


class _Time(TimestamptzLoader):
    """PostgreSQL's times; those outside of Python's years are Python's first and last."""

    def load(self, data: Buffer) -> datetime:
        """The time; infinity, years before Christ and after 9999 are read too."""
        text = bytes(data)
        if text == b"-infinity" or text.endswith(b"BC"):
            return _FIRST
        if text == b"infinity" or text.find(b"-") > _DIGITS_OF_A_YEAR:
            return _LAST
        try:
            return super().load(data)
        except psycopg.DataError:
            # On the last day of Python's years, in another time zone.
            return _LAST


def translate(error: psycopg.Error, connection: Connection | None = None) -> ReaperError:
    """Our exception for an error of the server, with its message and hint.

    Where a right is missing, the connection is asked which role has it.
    """
    diag = error.diag
    if error.sqlstate is None and isinstance(error, psycopg.DataError | psycopg.ProgrammingError):
        return DatabaseError(_one_line(error))
    if error.sqlstate is None or error.sqlstate.startswith("08") or error.sqlstate in _SERVER_GOES_AWAY:
        return Unreachable(f"the connection to the database broke: {_one_line(error)}")
    message = diag.message_primary or _one_line(error)
    hint = diag.message_hint or _HINTS.get(error.sqlstate)
    if hint is None and connection is not None and isinstance(error, psycopg.errors.InsufficientPrivilege):
        hint = grant_that_helps(error, connection)
    return by_sqlstate(error.sqlstate)(message, hint, error.sqlstate)


@contextmanager
def translated(connection: Connection | None = None) -> Iterator[None]:
    """Turn errors of psycopg inside the block into ours."""
    try:
        yield
    except psycopg.Error as error:
        raise translate(error, connection) from error


def _one_line(error: BaseException) -> str:
    return "; ".join(line.strip() for line in str(error).splitlines() if line.strip())
