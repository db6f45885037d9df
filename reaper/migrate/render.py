"""A plan as one SQL script, for a DBA to review and, if wanted, to run by psql."""

from __future__ import annotations

from collections.abc import Iterator

from psycopg import sql

from reaper.db.connection import Connection
from reaper.migrate import catalogue, code, procrastinate, roles
from reaper.migrate.files import Migration
from reaper.migrate.ledger import Ledger
from reaper.migrate.plan import REAPER, Plan
from reaper.migrate.session import APPLICATION_NAME
from reaper.migrate.steps import LOCK_TIMEOUT

_HEAD = f"""\
-- What `reaper migrate` would run on this database, in this order. Nothing has been applied.
-- To run it by hand: psql -X -f this.sql, on a direct connection. `reaper migrate` also tries a step again
-- when a lock is not to be had, and holds an advisory lock against a second migrator.
\\set ON_ERROR_STOP on
set application_name = '{APPLICATION_NAME}';
set search_path = reaper;
"""


def render(connection: Connection, plan: Plan) -> str:
    """The script; it ends in the same state, ledger included, as the migration itself."""
    if plan.empty:
        return "-- The schema is up to date: nothing would be run.\n"
    return "\n".join([_HEAD, *_parts(connection, plan)])


def _parts(connection: Connection, plan: Plan) -> Iterator[str]:
    yield from (f"-- warning: {text}" for text in plan.warnings)
    if plan.roles:
        yield _section("roles", "none on tables; needs a superuser or CREATEROLE", plan.release.roles_script)
        if not connection_is_superuser(connection):
            yield f"{roles.grant_sql(plan.user)};\n"
    for ledger in _missing_ledgers(plan):
        yield _section(f"ledger in schema {ledger.schema}", "none on existing tables", _ledger(ledger))
    yield from _procrastinate(plan)
    if plan.rollbacks:
        yield _section(
            "drop the code", "ACCESS EXCLUSIVE on our views for moments", _drop_all(connection, plan)
        )
    for migration in plan.rollbacks:
        yield _step(migration, REAPER, migration.rollback or (), _forget(migration), back=True)
    for index in plan.unfinished_indexes:
        yield f"drop index concurrently if exists {index.as_string()};\n"
    for migration in plan.migrations:
        yield _step(migration, REAPER, migration.statements, record(REAPER, migration))
    if plan.migrations and not plan.syncs_code:
        yield _section(
            "owner", "none that lasts", f"{_begin()}{plan.release.ownership_script.strip()}\ncommit;"
        )
    if plan.syncs_code:
        yield _section(
            "functions, triggers, views",
            "tables with triggers SHARE ROW EXCLUSIVE for moments",
            _code(connection, plan),
        )


def record(ledger: Ledger, migration: Migration) -> str:
    """The statements that write an applied migration down."""
    id_, hash_, sha = (sql.Literal(v).as_string() for v in (migration.id, migration.hash, migration.sha256))
    s = ledger.schema
    return (
        f"insert into {s}._yoyo_migration values ({hash_}, {id_}, now() at time zone 'utc')"
        " on conflict do nothing;\n"
        f"insert into {s}.migration_files (id, sha256) values ({id_}, {sha}) on conflict do nothing;"
    )


def _forget(migration: Migration) -> str:
    id_ = sql.Literal(migration.id).as_string()
    return (
        f"delete from reaper._yoyo_migration where migration_id = {id_};\n"
        f"delete from reaper.migration_files where id = {id_};"
    )


def _step(
    migration: Migration, ledger: Ledger, statements: tuple[str, ...], after: str, back: bool = False
) -> str:
    body = "\n".join(text.strip() for text in statements)
    title = (
        f"{'roll back ' if back else ''}{migration.id}: {migration.summary or 'a step of ' + ledger.schema}"
    )
    if not migration.transactional:
        body = body if back or not migration.skip_if else _unless(migration.skip_if, body)
        return (
            _title(title, migration.locks, "outside a transaction")
            + f"set lock_timeout = 0;\n{body}\n{after}\n"
        )
    return _section(title, migration.locks, f"{_begin()}{body}\n{after}\ncommit;")


def _unless(condition: str, body: str) -> str:
    """Psql's own condition: the statements stand outside a transaction, so no block can wrap them."""
    return f"select ({condition}) as needless \\gset\n\\if :needless\n\\else\n{body}\n\\endif"


def _begin() -> str:
    return f"begin;\nset local lock_timeout = '{LOCK_TIMEOUT}';\n"


def _section(title: str, locks: str, body: str) -> str:
    return _title(title, locks, "") + body.strip() + "\n"


def _title(title: str, locks: str, mode: str) -> str:
    lines = [f"-- {title}", f"-- locks: {locks or 'not stated'}"] + ([f"-- {mode}"] if mode else [])
    return "\n".join(lines) + "\n"


def _missing_ledgers(plan: Plan) -> list[Ledger]:
    both = (plan.release.chain.ledger, plan.release.procrastinate.ledger)
    return [ledger for ledger in both if ledger.schema in plan.ledgers]


def _ledger(ledger: Ledger) -> str:
    schema = f"create schema if not exists {ledger.schema} authorization {roles.OWNER};"
    return f"begin;\n{schema}\nset local role {roles.OWNER};\n{ledger.ddl}commit;"


def _procrastinate(plan: Plan) -> Iterator[str]:
    if not plan.procrastinate:
        return
    yield f"set role {roles.OWNER};\nset search_path = {procrastinate.SCHEMA};\n"
    ledger = plan.release.procrastinate.ledger
    for migration in plan.procrastinate:
        yield _step(migration, ledger, migration.statements, record(ledger, migration))
    yield f"{procrastinate.GRANTS}reset role;\nset search_path = reaper;\n"


def _drop_all(connection: Connection, plan: Plan) -> str:
    paths = sorted(plan.drops_code, key=lambda path: -code.KINDS.index(code.named(path).kind))
    drops = _drops(connection, paths)
    return _begin() + "\n".join([*drops, "delete from reaper.code_files;", "commit;"])


def _drops(connection: Connection, paths: list[str]) -> list[str]:
    return [f"{text};" for path in paths for text in catalogue.drop_statements(connection, code.named(path))]


def _code(connection: Connection, plan: Plan) -> str:
    lines = [_begin() + "set local check_function_bodies = off;"]
    lines.append(
        "-- Where a file's object cannot be replaced in place, reaper migrate drops it first, with CASCADE."
    )
    lines += _drops(connection, list(plan.code.drop))
    for path in plan.code.drop:
        lines.append(f"delete from reaper.code_files where path = {sql.Literal(path).as_string()};")
    for file in plan.code.load:
        path, sha = (sql.Literal(value).as_string() for value in (file.path, file.sha256))
        lines.append(f"-- sql/{file.path}\n{file.text.strip()}")
        lines.append(
            f"insert into reaper.code_files (path, sha256) values ({path}, {sha})"
            " on conflict (path) do update set sha256 = excluded.sha256, applied_at = now();"
        )
    return "\n".join([*lines, plan.release.ownership_script.strip(), "commit;"])


def connection_is_superuser(connection: Connection) -> bool:
    """Whether this login needs no membership to act as the owner."""
    row = connection.execute(
        "select rolsuper from pg_catalog.pg_roles where rolname = current_user"
    ).fetchone()
    return bool(row and row[0])
