"""Whether a session is ours alone: a worker needs start-up parameters, LISTEN and session locks."""

from __future__ import annotations

import secrets

import psycopg

from reaper.db.connection import Connection, connect, parameters, translated
from reaper.errors import ConfigError, Unreachable

HINT = (
    "Workers need PostgreSQL's own address in REAPER_DATABASE_URL: start-up parameters, LISTEN and session"
    " locks do not pass. Applications may keep the pooler."
)
_REFUSED = "unsupported startup parameter"
# A pooler may hand out its connections in turn.
_LOOKS = 3
_PID = "select pg_catalog.pg_backend_pid()"


def require_session(dsn: str) -> None:
    """Raise ConfigError where a pooler stands between, and sessions are not kept."""
    if problem := pooler_problem(dsn):
        raise ConfigError(f"a connection pooler stands between this worker and PostgreSQL: {problem}", HINT)


def pooler_problem(dsn: str) -> str | None:
    """How a pooler shows itself; None for a session of our own, through a pooler in session mode too."""
    token = secrets.token_hex(8)
    given = parameters(dsn, "reaper:check")
    given["options"] = f"{given.get('options', '')} -c reaper.session_check={token}".strip()
    try:
        connection: Connection = psycopg.connect(**given, autocommit=True)
    except psycopg.Error as error:
        if _REFUSED in str(error):
            return f"it refuses the start-up parameter options ({_REFUSED})"
        raise Unreachable(f"cannot connect to the database: {' '.join(str(error).split())}") from None
    with connection, translated():
        asked = connection.execute("select pg_catalog.current_setting('reaper.session_check', true)")
        if asked.fetchone() != (token,):
            return "the start-up parameter options does not reach the server"
        if _pid(connection) == connection.info.backend_pid or _is_kept(dsn, connection):
            return None
        return "it is in transaction mode: two statements of a session ran in different ones"


def _is_kept(dsn: str, connection: Connection) -> bool:
    """Whether the server's process stays with the session, while another asks, too."""
    mine = _pid(connection)
    with connect(dsn, "reaper:check") as other:
        return all(_pid(other) != mine and _pid(connection) == mine for _ in range(_LOOKS))


def _pid(connection: Connection) -> int:
    row = connection.execute(_PID).fetchone()
    assert row is not None
    return int(row[0])
