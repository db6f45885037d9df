"""What has been applied: yoyo's own tables, which its tools can read, and our checksums beside them."""

from __future__ import annotations

import getpass
import os
import socket
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from psycopg import sql
from yoyo.backends.core.postgresql import PostgresqlPsycopgBackend  # type: ignore[import-untyped]
from yoyo.migrations import default_migration_table  # type: ignore[import-untyped]

from reaper.db.connection import Connection
from reaper.errors import MigrationRefused
from reaper.migrate.files import Migration
from reaper.migrate.roles import OWNER

_YOYO_LAYOUT = 2
_TABLES = """\
create table if not exists {s}._yoyo_migration (
    migration_hash varchar(64) primary key,
    migration_id   varchar(255),
    applied_at_utc timestamp
);
create table if not exists {s}._yoyo_log (
    id             varchar(36) primary key,
    migration_hash varchar(64),
    migration_id   varchar(255),
    operation      varchar(10),
    username       varchar(255),
    hostname       varchar(255),
    comment        varchar(255),
    created_at_utc timestamp
);
create table if not exists {s}._yoyo_version (
    version          int primary key,
    installed_at_utc timestamp
);
insert into {s}._yoyo_version values ({layout}, now() at time zone 'utc') on conflict do nothing;
create table if not exists {s}.yoyo_lock (
    locked int default 1 primary key,
    ctime  timestamp,
    pid    int not null
);
create table if not exists {s}.migration_files (
    id         text        primary key,
    sha256     text        not null,
    applied_at timestamptz not null default now()
);
comment on table {s}._yoyo_migration is 'Which migrations are applied, in the layout of yoyo.';
comment on table {s}._yoyo_log is 'Each application and rollback of a migration, in the layout of yoyo.';
comment on table {s}._yoyo_version is 'The version of the layout of the yoyo tables.';
comment on table {s}.yoyo_lock is 'The lock row of yoyo''s tools; reaper migrate has an advisory lock.';
comment on table {s}.migration_files is 'Checksums of the applied migrations; an edited file is refused.';
comment on column {s}.migration_files.id is 'Name of the file without its ending.';
comment on column {s}.migration_files.sha256 is 'SHA-256 of the file when it was applied.';
comment on column {s}.migration_files.applied_at is 'When it was applied.';
"""
_CODE_TABLES = """\
create table if not exists {s}.code_files (
    path       text        primary key,
    sha256     text        not null,
    applied_at timestamptz not null default now()
);
comment on table {s}.code_files is 'Loaded functions, triggers and views; a changed file is loaded again.';
comment on column {s}.code_files.path is 'Path below sql/.';
comment on column {s}.code_files.sha256 is 'SHA-256 of the file when it was loaded.';
comment on column {s}.code_files.applied_at is 'When it was loaded.';
create or replace view {s}.schema_version as select id, applied_at from {s}.migration_files;
comment on view {s}.schema_version is 'Applied migrations: workers look whether the schema is new enough.';
comment on column {s}.schema_version.id is 'Name of the migration.';
comment on column {s}.schema_version.applied_at is 'When it was applied.';
grant select on {s}.schema_version to reaper_worker, reaper_app, reaper_ops, reaper_ro;
"""


class _Yoyo(PostgresqlPsycopgBackend):  # type: ignore[misc]
    """Yoyo's bookkeeping on a connection that is already open, in the caller's transaction.

    Yoyo's own runner marks a migration on another connection than it runs it on; here both commit together.
    """

    def __init__(self, connection: Connection, schema: str) -> None:
        self._given = connection
        self._namespace = schema
        # The address is only used to connect; none is given, so none can be printed.
        super().__init__(None, default_migration_table)
        # ensure() made the tables in the newest layout.
        self._internal_schema_updated = True

    def connect(self, _dburi: None) -> Connection:
        return self._given

    @property
    def migration_table_quoted(self) -> str:
        return f"{self._namespace}.{self.quote_identifier(self.migration_table)}"

    @property
    def log_table_quoted(self) -> str:
        return f"{self._namespace}.{self.quote_identifier(self.log_table)}"

    def get_log_data(self, migration: Any = None, operation: str = "apply") -> dict[str, Any]:
        # Yoyo asks for the fully qualified name of the host, which waits for DNS.
        return {
            "id": str(uuid.uuid4()),
            "migration_id": migration.id,
            "migration_hash": migration.hash,
            "username": _user(),
            "hostname": socket.gethostname(),
            "created_at_utc": datetime.now(UTC).replace(tzinfo=None),
            "operation": operation,
        }


@dataclass(frozen=True)
class Ledger:
    """The record of one chain of migrations, in the schema that the chain builds."""

    schema: str
    with_code: bool = False

    @property
    def ddl(self) -> str:
        """The script that makes the ledger."""
        text = _TABLES + (_CODE_TABLES if self.with_code else "")
        return text.format(s=self.schema, layout=_YOYO_LAYOUT)

    def exists(self, connection: Connection) -> bool:
        """Whether every table of the ledger is there."""
        names = ["_yoyo_migration", "_yoyo_log", "_yoyo_version", "yoyo_lock", "migration_files"]
        names += ["code_files", "schema_version"] if self.with_code else []
        return all(relation_exists(connection, self.schema, name) for name in names)

    def create(self, connection: Connection) -> None:
        """Make schema and ledger, owned by reaper_owner."""
        with connection.transaction():
            connection.execute(f"create schema if not exists {self.schema} authorization reaper_owner")
            self._give_to_owner(connection)
            connection.execute("set local role reaper_owner")
            connection.execute(self.ddl)

    def _give_to_owner(self, connection: Connection) -> None:
        """A schema that a DBA made beforehand may belong to somebody else."""
        owner = connection.execute(
            "select nspowner::regrole::text from pg_catalog.pg_namespace where nspname = %s", (self.schema,)
        ).fetchone()
        if owner != (OWNER,):
            connection.execute(f"alter schema {self.schema} owner to {OWNER}")

    def applied(self, connection: Connection) -> dict[str, str]:
        """The checksum of each applied migration, in the order of their ids; empty without a ledger."""
        if not relation_exists(connection, self.schema, "migration_files"):
            return {}
        query = sql.SQL(
            "select m.migration_id, coalesce(f.sha256, '') from {s}._yoyo_migration m"
            " left join {s}.migration_files f on f.id = m.migration_id order by 1"
        ).format(s=sql.Identifier(self.schema))
        return {row[0]: row[1] for row in connection.execute(query)}

    def record(self, connection: Connection, migration: Migration) -> None:
        """Write down, in the caller's transaction, that a migration was applied."""
        yoyo = _Yoyo(connection, self.schema)
        yoyo.mark_one(migration, log=False)
        yoyo.log_migration(migration, "apply")
        connection.execute(
            f"insert into {self.schema}.migration_files (id, sha256) values (%s, %s)"
            " on conflict (id) do update set sha256 = excluded.sha256, applied_at = now()",
            (migration.id, migration.sha256),
        )

    def forget(self, connection: Connection, migration: Migration) -> None:
        """Write down, in the caller's transaction, that a migration was rolled back."""
        yoyo = _Yoyo(connection, self.schema)
        yoyo.unmark_one(migration, log=False)
        yoyo.log_migration(migration, "rollback")
        connection.execute(f"delete from {self.schema}.migration_files where id = %s", (migration.id,))

    def clear_stale_lock(self, connection: Connection) -> None:
        """Remove the lock row that a killed yoyo leaves behind; the advisory lock is ours by now."""
        connection.execute(f"delete from {self.schema}.yoyo_lock")


def verify_checksums(applied: dict[str, str], known: Iterable[Migration], where: str) -> None:
    """Refuse applied migrations that this release does not know, or knows with other contents."""
    by_id = {migration.id: migration for migration in known}
    if unknown := [name for name in applied if name not in by_id]:
        raise MigrationRefused(
            f"{where} has migrations that this release does not know: {', '.join(unknown)}",
            "A newer release migrated it. Install that release; an older one would undo its functions.",
        )
    edited = [name for name, sha256 in applied.items() if sha256 and sha256 != by_id[name].sha256]
    if edited:
        raise MigrationRefused(
            f"{where}: already applied, but edited since: {', '.join(edited)}",
            "Restore the file as it was applied, and put the change into a new migration.",
        )


def refuse_unreleased_past(applied: Iterable[str], known: Sequence[Migration]) -> None:
    """Refuse a ledger whose numbers are ours and whose names are not: a newer release only adds numbers."""
    ids = {migration.id for migration in known}
    newest = max((migration.number for migration in known), default="")
    past = sorted(name for name in applied if name not in ids and name.split(".")[0] <= newest)
    if past:
        raise MigrationRefused(
            f"this database was migrated by an unreleased version of reaper ({past[0]} is unknown to this"
            " release); there is no path from it",
            "Let that version finish what it owes (reaper drain), stop it, dump the application's tables"
            " (pg_dump -t public.content -t public.pastes), drop schema reaper (drop schema reaper cascade),"
            " then migrate again.",
        )


def relation_exists(connection: Connection, schema: str, name: str) -> bool:
    """Whether a table or view exists, for roles without rights on the schema too."""
    query = """
        select exists (select from pg_catalog.pg_class c
                         join pg_catalog.pg_namespace n on n.oid = c.relnamespace
                        where n.nspname = %s and c.relname = %s)
    """
    row = connection.execute(query, (schema, name)).fetchone()
    return bool(row and row[0])


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # In a container the uid often has no passwd entry.
        return f"uid {os.getuid()}"
