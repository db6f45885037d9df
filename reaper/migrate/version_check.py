"""Whether a schema is new enough for this release."""

from __future__ import annotations

from psycopg import errors, sql

from reaper.db.connection import Connection
from reaper.errors import ConfigError, SchemaTooOld
from reaper.migrate.migration_files import migration_ids
from reaper.migrate.release_folders import ReleaseFolders, installed_folders

_HINT = "Run `reaper migrate` with this release, then start again."


def schema_version(connection: Connection) -> str | None:
    """The newest applied migration; None where reaper was never migrated."""
    return max(_applied(connection), default=None)


def check_schema(connection: Connection, folders: ReleaseFolders | None = None) -> None:
    """Refuse a schema that lacks migrations of this release; a newer one is fine, signatures only grow."""
    applied = _applied(connection)
    known = migration_ids((folders or installed_folders()).migrations)
    if missing := [migration for migration in known if migration not in applied]:
        at = f"is at {max(applied)}" if applied else "has no schema reaper"
        raise SchemaTooOld(
            f"the database {at}; this release needs {known[-1]} ({len(missing)} missing)", _HINT
        )


def _applied(connection: Connection) -> set[str]:
    try:
        return {row[0] for row in connection.execute("select id from reaper.schema_version")}
    except (errors.UndefinedTable, errors.InvalidSchemaName):
        return set()
    except errors.InsufficientPrivilege:
        raise ConfigError(
            f"login {connection.info.user} may not use schema reaper",
            f"Run: grant reaper_worker to {_quoted(connection.info.user)} (a worker, a drain),"
            " or reaper_ops (operators), reaper_ro (monitoring), reaper_app (applications).",
        ) from None


def _quoted(login: str) -> str:
    return sql.Identifier(login).as_string()
