"""What must be true before the first change."""

from __future__ import annotations

from collections.abc import Iterable

import psycopg

from reaper.db.connection import Connection
from reaper.errors import MigrationRefused, WouldLoseInformation
from reaper.migrate.binding import Binding
from reaper.migrate.step import Step

OLDEST_SERVER = 150000
ENCODING_HINT = (
    "reaper needs UTF8. Create another database (create database … encoding 'UTF8' template template0) and"
    " restore a dump of this one into it: pg_dump --encoding=UTF8 converts, except from SQL_ASCII, whose"
    " bytes must be UTF-8 already."
)


def check_server(connection: Connection) -> None:
    """Refuse servers that are too old, standbys, and databases that cannot hold every character."""
    version = connection.info.server_version
    if version < OLDEST_SERVER:
        raise MigrationRefused(
            f"PostgreSQL {version // 10000} is too old", "reaper needs PostgreSQL 15 or newer."
        )
    row = connection.execute("select pg_is_in_recovery()").fetchone()
    if row and row[0]:
        raise MigrationRefused("this server is a standby", "Migrate on the primary.")
    if problem := encoding_problem(connection):
        raise MigrationRefused(f"{problem}; nothing was changed", ENCODING_HINT)


def encoding_problem(connection: Connection) -> str | None:
    """Why the database's encoding will not do; it is chosen when a database is created, and stays."""
    row = connection.execute("select current_database(), current_setting('server_encoding')").fetchone()
    assert row is not None
    return None if row[1] == "UTF8" else f"database {row[0]!r} has encoding {row[1]}"


def check_may_create_schemas(connection: Connection, schemas: list[str]) -> None:
    """Refuse a role that cannot make the schemas that are still missing."""
    row = connection.execute(
        "select current_database(), current_user, has_database_privilege(current_database(), 'CREATE'),"
        " array(select s from unnest(%s::text[]) s"
        " where s not in (select nspname from pg_catalog.pg_namespace))",
        (schemas,),
    ).fetchone()
    assert row is not None
    database, user, allowed, missing = row
    if missing and not allowed:
        raise MigrationRefused(
            f"{user!r} may not create schemas ({', '.join(missing)}) in database {database!r}",
            f'Let the owner of the database run: grant create on database "{database}" to "{user}";',
        )


def check_adoptable(connection: Connection, scripts: Iterable[str], binding: Binding) -> list[str]:
    """Refuse tables of the application that reaper cannot serve; the warnings about the others."""
    with connection.transaction():
        connection.execute("set transaction read only")
        connection.execute("select set_config('reaper.binding', %s, true)", (binding.as_json(),))
        rows = [row for script in scripts if script for row in connection.execute(script)]
    problems = [(severity, f"{subject}: {problem}", fix) for severity, subject, problem, fix in rows]
    if refused := [(text, fix) for severity, text, fix in problems if severity == "refuse"]:
        raise MigrationRefused(
            "the application's tables cannot be adopted; nothing was changed: "
            + "; ".join(text for text, _ in refused),
            "\n".join(f"{text}. {fix}" for text, fix in refused),
        )
    return [f"{text}. {fix}" for _, text, fix in problems]


def check_losses(connection: Connection, steps: Iterable[Step]) -> None:
    """Refuse a way back that would lose something before its first step, with all that it would lose."""
    losses = [
        error for step in steps if step.guarded and (error := _loss(connection, step.statements[0].text))
    ]
    if losses:
        raise WouldLoseInformation(
            "nothing was changed: " + "; ".join(str(error.diag.message_primary) for error in losses),
            "\n".join(dict.fromkeys(str(error.diag.message_hint) for error in losses)),
        )


def _loss(connection: Connection, guard: str) -> psycopg.Error | None:
    try:
        with connection.transaction(force_rollback=True):
            connection.execute(guard)
    except psycopg.Error as error:
        if error.sqlstate != "RP007":
            raise
        return error
    return None
