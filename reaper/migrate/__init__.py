"""Bringing a database to the schema of this release, online, and back.

What holds data moves by the yoyo files in `migrations/`; code, that is functions, triggers and views, by the
files in `sql/`.
"""

from __future__ import annotations

from reaper.migrate import plan as _planning
from reaper.migrate.lock import MigrationLock
from reaper.migrate.patience import Patience
from reaper.migrate.plan import Plan
from reaper.migrate.render import render
from reaper.migrate.runner import Report, Runner, Say
from reaper.migrate.session import session
from reaper.migrate.source import Source, installed_source
from reaper.migrate.version import check_schema, schema_version

__all__ = ["Plan", "Report", "Source", "check_schema", "migrate", "plan", "render_sql", "schema_version"]


def migrate(
    dsn: str,
    *,
    to: str | None = None,
    source: Source | None = None,
    patience: float = 60.0,
    say: Say = lambda _line: None,
) -> Report:
    """Migrate to the newest schema, or to the migration `to`, which may lie behind; `base` undoes all.

    A step that cannot have its locks is tried again for `patience` seconds. `say` hears of the progress.
    """
    with session(dsn) as holder:
        lock = MigrationLock(holder)
        lock.acquire(say)
        return Runner(dsn, source or installed_source(), lock, Patience(dsn, patience), say).run(to)


def plan(dsn: str, *, to: str | None = None, source: Source | None = None) -> Plan:
    """What migrate() would do; changes nothing."""
    with session(dsn, "reaper", read_only=True) as connection:
        return _planning.make(connection, source or installed_source(), to)


def render_sql(dsn: str, *, to: str | None = None, source: Source | None = None) -> str:
    """The SQL of migrate() as a script for psql, for review; changes nothing."""
    with session(dsn, "reaper", read_only=True) as connection:
        return render(connection, _planning.make(connection, source or installed_source(), to))
