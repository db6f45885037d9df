"""What has been applied: tables in yoyo's layout, which its tools can read, and our checksums beside them."""

from __future__ import annotations

import os
from dataclasses import dataclass

from psycopg import sql

from reaper.db.connection import Connection
from reaper.migrate.migration_files import Migration
from reaper.migrate.migrator_rights import OWNER

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


_RECORD = """\
insert into {s}._yoyo_migration (migration_hash, migration_id, applied_at_utc)
    values ({hash}, {id}, now() at time zone 'utc') on conflict do nothing
"""
_FORGET = "delete from {s}._yoyo_migration where migration_hash = {hash}"
# The login and the address instead of yoyo's user and host: a script for psql does not know who will run it.
_LOG = """\
insert into {s}._yoyo_log (id, migration_hash, migration_id, operation, username, hostname, created_at_utc)
    values (gen_random_uuid(), {hash}, {id}, {operation}, session_user,
            coalesce(host(inet_client_addr()), 'local'), now() at time zone 'utc')
"""
_RECORD_CHECKSUM = """\
insert into {s}.migration_files (id, sha256) values ({id}, {sha256})
    on conflict (id) do update set sha256 = excluded.sha256, applied_at = now()
"""
_FORGET_CHECKSUM = "delete from {s}.migration_files where id = {id}"
# Where a DBA made the schema, or yoyo its tables in it, before us.
_OTHERS = """
    select format('alter schema %%I owner to {owner}', n.nspname)
      from pg_catalog.pg_namespace n
     where n.nspname = %(schema)s and pg_get_userbyid(n.nspowner) <> '{owner}'
    union all
    select format('alter table %%s owner to {owner}', c.oid::regclass)
      from pg_catalog.pg_class c
     where c.relnamespace = to_regnamespace(%(schema)s) and c.relname = any (%(names)s) and c.relkind = 'r'
       and pg_get_userbyid(c.relowner) <> '{owner}'
"""
_YOYO_TABLES = ["_yoyo_migration", "_yoyo_log", "_yoyo_version", "yoyo_lock"]


@dataclass(frozen=True)
class Ledger:
    """The record of one chain of migrations, in the schema that the chain builds."""

    schema: str
    with_code: bool = False

    def exists(self, connection: Connection) -> bool:
        """Whether every table of the ledger is there."""
        names = [*_YOYO_TABLES, "migration_files"]
        names += ["code_files", "schema_version"] if self.with_code else []
        return all(relation_exists(connection, self.schema, name) for name in names)

    def create_statements(self, connection: Connection) -> tuple[str, ...]:
        """The statements that make schema and ledger, owned by reaper_owner."""
        values = {"schema": self.schema, "names": _YOYO_TABLES}
        give = [row[0] for row in connection.execute(_OTHERS.format(owner=OWNER), values)]
        text = _TABLES + (_CODE_TABLES if self.with_code else "")
        return (
            f"create schema if not exists {self.schema} authorization {OWNER}",
            *give,
            f"set local role {OWNER}",
            text.format(s=self.schema, layout=_YOYO_LAYOUT),
        )

    def applied(self, connection: Connection) -> dict[str, str]:
        """The checksum of each applied migration, in the order of their ids; empty without a ledger."""
        if not relation_exists(connection, self.schema, "migration_files"):
            return {}
        query = sql.SQL(
            "select m.migration_id, coalesce(f.sha256, '') from {s}._yoyo_migration m"
            " left join {s}.migration_files f on f.id = m.migration_id order by 1"
        ).format(s=sql.Identifier(self.schema))
        return {row[0]: row[1] for row in connection.execute(query)}

    def record_statements(self, migration: Migration) -> tuple[str, ...]:
        """The statements that write down that a migration was applied."""
        return tuple(self._about(migration, "apply", text) for text in (_RECORD, _LOG, _RECORD_CHECKSUM))

    def forget_statements(self, migration: Migration) -> tuple[str, ...]:
        """The statements that write down that a migration was rolled back."""
        return tuple(self._about(migration, "rollback", text) for text in (_FORGET, _LOG, _FORGET_CHECKSUM))

    def _about(self, migration: Migration, operation: str, text: str) -> str:
        values = {
            "id": migration.id,
            "hash": migration.hash,
            "sha256": migration.sha256,
            "operation": operation,
        }
        literals = {name: sql.Literal(value).as_string() for name, value in values.items()}
        return text.format(s=self.schema, **literals).strip()

    def has_lock_row(self, connection: Connection) -> bool:
        """Whether a killed yoyo left its lock row behind; the row of this very process is no such one."""
        if not relation_exists(connection, self.schema, "yoyo_lock"):
            return False
        query = f"select exists (select from {self.schema}.yoyo_lock where pid <> %s)"
        row = connection.execute(query, (os.getpid(),)).fetchone()
        return bool(row and row[0])


@dataclass(frozen=True)
class MigrationChain:
    """Migrations that share a schema and a ledger."""

    ledger: Ledger
    migrations: tuple[Migration, ...]


def relation_exists(connection: Connection, schema: str, name: str) -> bool:
    """Whether a table or view exists, for roles without rights on the schema too."""
    query = """
        select exists (select from pg_catalog.pg_class c
                         join pg_catalog.pg_namespace n on n.oid = c.relnamespace
                        where n.nspname = %s and c.relname = %s)
    """
    row = connection.execute(query, (schema, name)).fetchone()
    return bool(row and row[0])
