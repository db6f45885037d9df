"""Bringing a database to the schema of this release, online, and back.

What holds data moves by the yoyo files in `migrations/`; code, that is functions, triggers and views, by the
files in `sql/`. Both become one list of steps, which is run, shown or rendered as a script.
"""

from __future__ import annotations

from reaper.migrate import plan as _planning
from reaper.migrate.connection import migrator_connection
from reaper.migrate.lock_retry import LockRetry
from reaper.migrate.migration_lock import MigrationLock
from reaper.migrate.plan import SEARCH_PATH, Plan
from reaper.migrate.release_folders import ReleaseFolders, installed_folders
from reaper.migrate.render import render
from reaper.migrate.report import Report
from reaper.migrate.runner import Runner, Say
from reaper.migrate.version_check import check_schema, schema_version

__all__ = [
    "Plan",
    "ReleaseFolders",
    "Report",
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
    folders: ReleaseFolders | None = None,
    patience: float = 60.0,
    say: Say = lambda _line: None,
) -> Report:
    """Migrate to the newest schema, or to the migration `to`, which may lie behind; `base` undoes all.

    A step that cannot have its locks is tried again for `patience` seconds. `say` hears of the progress.
    """
    with migrator_connection(dsn) as holder:
        lock = MigrationLock(holder)
        lock.acquire(say)
        with migrator_connection(dsn, SEARCH_PATH) as connection:
            steps = _planning.make(connection, folders or installed_folders(), to)
            return Runner(connection, lock, LockRetry(dsn, patience), say).run(steps)


def plan(dsn: str, *, to: str | None = None, folders: ReleaseFolders | None = None) -> Plan:
    """What migrate() would do; changes nothing."""
    with migrator_connection(dsn, SEARCH_PATH, read_only=True) as connection:
        return _planning.make(connection, folders or installed_folders(), to)


def render_sql(dsn: str, *, to: str | None = None, folders: ReleaseFolders | None = None) -> str:
    """The SQL of migrate() as a script for psql, for review; changes nothing."""
    return render(plan(dsn, to=to, folders=folders))
