"""Bringing a database to the schema of this release, online, and back.

What holds data moves by the yoyo files in `migrations/`; code, that is functions, triggers and views, by the
files in `sql/`. Both become one list of steps, which is run, shown or rendered as a script.
"""

from __future__ import annotations

from collections.abc import Iterable

from reaper.errors import ConfigError
from reaper.migrate import plan as _planning
from reaper.migrate.binding_plan import Request
from reaper.migrate.connection import migrator_connection
from reaper.migrate.empty_database import empty_database
from reaper.migrate.lock_retry import LockRetry
from reaper.migrate.migration_lock import MigrationLock
from reaper.migrate.plan import SEARCH_PATH, Plan
from reaper.migrate.release_folders import ReleaseFolders, installed_folders
from reaper.migrate.render import FRESH, render
from reaper.migrate.report import Report
from reaper.migrate.runner import Runner, Say
from reaper.migrate.service_registration import ServiceDefaults
from reaper.migrate.version_check import check_schema, schema_version

__all__ = [
    "Plan",
    "ReleaseFolders",
    "Report",
    "Request",
    "ServiceDefaults",
    "check_schema",
    "migrate",
    "plan",
    "render_sql",
    "schema_version",
]


def migrate(
    dsn: str,
    *,
    to: str | None = None,
    tables: Request | None = None,
    services: Iterable[ServiceDefaults] = (),
    folders: ReleaseFolders | None = None,
    patience: float = 60.0,
    say: Say = lambda _line: None,
) -> Report:
    """Migrate to the newest schema, or to the migration `to`, which may lie behind; `base` undoes all.

    `tables` says which tables of the application are meant; without it those of before, else the usual ones.
    `services` are entered into the schedule, normally `reaper.services.ALL`.
    A step that cannot have its locks is tried again for `patience` seconds. `say` hears of the progress.
    """
    with migrator_connection(dsn) as holder:
        lock = MigrationLock(holder)
        lock.acquire(say)
        with migrator_connection(dsn, SEARCH_PATH) as connection:
            steps = _planning.make(connection, folders or installed_folders(), to, tables, services)
            return Runner(connection, lock, LockRetry(dsn, patience), say).run(steps)


def plan(
    dsn: str,
    *,
    to: str | None = None,
    tables: Request | None = None,
    services: Iterable[ServiceDefaults] = (),
    folders: ReleaseFolders | None = None,
) -> Plan:
    """What migrate() would do; changes nothing."""
    with migrator_connection(dsn, SEARCH_PATH, read_only=True) as connection:
        return _planning.make(connection, folders or installed_folders(), to, tables, services)


def render_sql(
    dsn: str | None,
    *,
    to: str | None = None,
    tables: Request | None = None,
    services: Iterable[ServiceDefaults] = (),
    folders: ReleaseFolders | None = None,
) -> str:
    """The SQL of migrate() as a script for psql, for review; changes nothing.

    Without a database, that of a fresh installation.
    """
    if dsn is not None:
        return render(plan(dsn, to=to, tables=tables, services=services, folders=folders))
    if tables and (tables.told or tables.options):
        raise ConfigError(
            "REAPER_DATABASE_URL is not set, and tables are bound",
            "Without a database only a fresh installation can be printed: an application's tables must be"
            " looked at.",
        )
    fresh = Request(create_tables=True, queue_schema=tables.queue_schema if tables else None)
    made = _planning.make(empty_database(), folders or installed_folders(), to, fresh, services)
    return render(made, FRESH)
