"""What must be true before the first change."""

from __future__ import annotations

from reaper.db.connection import Connection
from reaper.errors import MigrationRefused
from reaper.migrate.ledger import relation_exists

OLDEST_SERVER = 150000


def check_server(connection: Connection) -> None:
    """Refuse servers that are too old, and standbys."""
    version = connection.info.server_version
    if version < OLDEST_SERVER:
        raise MigrationRefused(
            f"PostgreSQL {version // 10000} is too old", "reaper needs PostgreSQL 15 or newer."
        )
    row = connection.execute("select pg_is_in_recovery()").fetchone()
    if row and row[0]:
        raise MigrationRefused("this server is a standby", "Migrate on the primary.")


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


def check_adoptable(connection: Connection, script: str) -> list[str]:
    """Refuse tables of the application that reaper cannot serve; the warnings about the others."""
    if not script:
        return []
    with connection.transaction():
        connection.execute("set transaction read only")
        rows = connection.execute(script).fetchall()
    problems = [(severity, f"{subject}: {problem}", fix) for severity, subject, problem, fix in rows]
    if refused := [(text, fix) for severity, text, fix in problems if severity == "refuse"]:
        raise MigrationRefused(
            "the application's tables cannot be adopted; nothing was changed: "
            + "; ".join(text for text, _ in refused),
            "\n".join(f"{text}. {fix}" for text, fix in refused),
        )
    return [f"{text}. {fix}" for _, text, fix in problems]


def check_procrastinate(connection: Connection, applied: dict[str, str]) -> None:
    """Refuse a procrastinate schema that reaper did not create: its version is unknown."""
    if not applied and relation_exists(connection, "procrastinate", "procrastinate_jobs"):
        raise MigrationRefused(
            "schema procrastinate exists, but reaper did not create it: its ledger is missing",
            "Rename it (alter schema procrastinate rename to procrastinate_old), or drop it if its jobs are"
            " done; then migrate again.",
        )
