"""The one list of steps, in order, that a migration of this database consists of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from reaper.db.connection import Connection
from reaper.migrate import (
    binding_plan,
    code,
    migrator_rights,
    procrastinate_schema,
    service_registration,
    unfinished_indexes,
)
from reaper.migrate.binding_plan import BindingPlan
from reaper.migrate.code import CodePlan
from reaper.migrate.code_replacement import CodeStatements, record_statements
from reaper.migrate.ledger import MigrationChain
from reaper.migrate.migration_files import Migration, Rollback
from reaper.migrate.migrator_rights import MigratorRights
from reaper.migrate.release import Release
from reaper.migrate.service_registration import ServiceDefaults
from reaper.migrate.step import LOCK_TIMEOUT, Kind, Statement, Step, statements

_NO_TABLE = "none on existing tables"
_UNOWNED = """
    with ours (owner) as (select oid from pg_catalog.pg_roles where rolname = 'reaper_owner'),
         places (oid, owner) as (select n.oid, n.nspowner from pg_catalog.pg_namespace n
                                  where n.nspname in ('reaper', 'reaper_internal'))
    select exists (select from ours, places p where p.owner <> ours.owner)
        or exists (select from ours, pg_catalog.pg_class c
                    where c.relnamespace in (select oid from places) and c.relkind in ('r', 'v', 'S')
                      and c.relowner <> ours.owner)
        or exists (select from ours, pg_catalog.pg_proc p
                    where p.pronamespace in (select oid from places) and p.proowner <> ours.owner)
"""


@dataclass(frozen=True)
class Moves:
    """The migrations to apply and those to roll back, each in its order."""

    procrastinate: tuple[Migration, ...]
    back: tuple[Migration, ...]
    forward: tuple[Migration, ...]
    reaches_newest: bool
    # Whether nothing of ours is to be left, not even in the application's tables.
    to_base: bool = False


def build(
    connection: Connection,
    release: Release,
    rights: MigratorRights,
    moves: Moves,
    tables: BindingPlan,
    services: Iterable[ServiceDefaults] = (),
) -> tuple[Step, ...]:
    """Look at the database and list what is to be done; changes nothing."""
    first, others = moves.forward[:1], moves.forward[1:]
    # The tables are bound as soon as there is a place to write it down: the next migration looks there.
    if not first or first[0] is not release.own.migrations[0]:
        first, others = (), moves.forward
    return (
        *_roles(connection, release, rights),
        *(step for chain in release.chains for step in _ledger(connection, chain)),
        *_procrastinate(release.procrastinate, moves.procrastinate),
        *_queue_of_others(connection, release, moves),
        *_way_back(connection, release, moves),
        *unfinished_indexes.drop_steps(connection, moves.forward, tables.prepare),
        *(_apply(release.own, migration) for migration in first),
        *tables.record,
        *(_apply(release.own, migration) for migration in others),
        *tables.prepare,
        *_code(connection, release, moves),
        *(
            procrastinate_schema.record_steps(connection, release.queue_schema)
            if moves.reaches_newest
            else ()
        ),
        *tables.views,
        *(service_registration.steps(connection, services) if moves.reaches_newest else ()),
    )


def load_code(connection: Connection, release: Release, changes: CodePlan) -> Step:
    """Load what changed and give it to the owner, in one transaction: definers run as their owner."""
    return Step(
        kind=Kind.LOAD_CODE,
        title=f"load {len(changes.load)} functions, triggers and views",
        locks="tables with triggers SHARE ROW EXCLUSIVE, replaced views ACCESS EXCLUSIVE, for moments",
        statements=(
            *CodeStatements(connection, release.code).load(changes),
            Statement(release.ownership_script),
        ),
        record=record_statements(changes),
        names=tuple(file.path for file in changes.load),
        dropped=changes.drop,
    )


def restore_code(connection: Connection, release: Release) -> Iterator[Step]:
    """Load the code again, and what is made by it, after a way back that did not begin."""
    yield load_code(connection, release, code.plan(release.code, code.loaded(connection)))
    if release.binds:
        yield from binding_plan.restore_views(connection)


def _grant_title(rights: MigratorRights) -> str:
    title = f"let {rights.user} act as {migrator_rights.OWNER}"
    if rights.problem is None:
        return title
    return f"{title}, which only a superuser can: {migrator_rights.grant_sql(rights.user)}"


def _roles(connection: Connection, release: Release, rights: MigratorRights) -> Iterator[Step]:
    if rights.missing:
        yield Step(
            kind=Kind.CREATE_ROLES,
            title=f"create the roles {', '.join(rights.missing)}",
            locks="none on tables; needs a superuser or CREATEROLE",
            statements=statements(release.roles_script),
            names=rights.missing,
        )
    if rights.needs_grant:
        grant = migrator_rights.grant_to_migrator(rights.user, connection.info.server_version)
        yield Step(
            kind=Kind.GRANT_OWNER,
            title=_grant_title(rights),
            locks="none on tables",
            statements=statements(grant),
            names=(rights.user,),
        )


def _ledger(connection: Connection, chain: MigrationChain) -> Iterator[Step]:
    ledger = chain.ledger
    if not ledger.exists(connection):
        yield Step(
            kind=Kind.CREATE_LEDGER,
            title=f"create the ledger in schema {ledger.schema}",
            locks=_NO_TABLE,
            statements=statements(*ledger.create_statements(connection)),
            names=(ledger.schema,),
        )
    if ledger.has_lock_row(connection):
        yield Step(
            kind=Kind.CLEAR_LOCK_ROW,
            title=f"delete the lock row that a killed yoyo left in schema {ledger.schema}",
            locks=f"{ledger.schema}.yoyo_lock ROW EXCLUSIVE",
            statements=statements(f"delete from {ledger.schema}.yoyo_lock"),
            names=(ledger.schema,),
        )


def _procrastinate(chain: MigrationChain, pending: tuple[Migration, ...]) -> Iterator[Step]:
    """Its objects are unqualified, so its schema is the search path; their owner makes them."""
    for migration in pending:
        # With the last step, so that a killed run cannot leave them out.
        grants = (procrastinate_schema.grants(chain.ledger.schema),) if migration is pending[-1] else ()
        yield Step(
            kind=Kind.APPLY_PROCRASTINATE,
            title=f"apply {migration.id} of procrastinate",
            locks=f"tables of schema {chain.ledger.schema}",
            statements=statements(*migration.statements, *grants),
            record=statements(*chain.ledger.record_statements(migration)),
            names=(migration.id,),
            role=migrator_rights.OWNER,
            search_path=chain.ledger.schema,
        )


def _queue_of_others(connection: Connection, release: Release, moves: Moves) -> Iterator[Step]:
    if release.queue_of_others and moves.reaches_newest:
        yield from procrastinate_schema.use_steps(connection, release.queue_schema)


def _way_back(connection: Connection, release: Release, moves: Moves) -> Iterator[Step]:
    """Code goes first, it uses the tables."""
    loaded = tuple(code.loaded(connection)) if moves.back else ()
    if loaded:
        yield Step(
            kind=Kind.DROP_CODE,
            title=f"drop {len(loaded)} functions, triggers and views",
            locks="views and tables with triggers ACCESS EXCLUSIVE for moments",
            statements=(
                *statements(*(binding_plan.views_to_drop(connection) if release.binds else ())),
                *CodeStatements(connection, release.code).drop_all(loaded),
            ),
            record=statements("delete from reaper.code_files"),
            dropped=loaded,
        )
    if moves.back and moves.to_base and release.binds:
        yield from binding_plan.release_steps(connection)
    for migration in moves.back:
        yield _roll_back(release.own, migration)


def _roll_back(chain: MigrationChain, migration: Migration) -> Step:
    assert migration.rollback is not None, "read_migrations refuses a migration without a rollback"
    part = migration.rollback
    step = _migration_step(
        Kind.ROLL_BACK,
        f"roll back {migration.id}: {part.summary}",
        migration,
        part,
        chain.ledger.forget_statements,
    )
    return replace(step, guarded=part.guarded)


def _apply(chain: MigrationChain, migration: Migration) -> Step:
    step = _migration_step(
        Kind.APPLY,
        f"apply {migration.id}: {migration.summary}",
        migration,
        migration,
        chain.ledger.record_statements,
    )
    return replace(step, skip_if=migration.skip_if)


def _migration_step(
    kind: Kind,
    title: str,
    migration: Migration,
    part: Migration | Rollback,
    record: Callable[[Migration], tuple[str, ...]],
) -> Step:
    """One direction of a migration; an index build outside a transaction waits as long as it takes."""
    return Step(
        kind=kind,
        title=title,
        locks=part.locks,
        statements=statements(*part.statements),
        record=statements(*record(migration)),
        names=(migration.id,),
        transactional=migration.transactional,
        lock_timeout=LOCK_TIMEOUT if migration.transactional else "0",
        repeatable=migration.transactional,
    )


def _code(connection: Connection, release: Release, moves: Moves) -> Iterator[Step]:
    """Code belongs to the newest migration: anywhere before it, none is loaded."""
    changes = code.plan(release.code, code.loaded(connection)) if moves.reaches_newest else CodePlan()
    if changes:
        yield load_code(connection, release, changes)
    elif moves.forward or (not moves.back and _something_is_unowned(connection)):
        yield Step(
            kind=Kind.GIVE_TO_OWNER,
            title=f"give everything in schema reaper to {migrator_rights.OWNER}",
            locks="what has another owner ACCESS EXCLUSIVE for moments",
            statements=statements(release.ownership_script),
        )


def _something_is_unowned(connection: Connection) -> bool:
    """Whether a killed run has left something to the role that ran it."""
    row = connection.execute(_UNOWNED).fetchone()
    return bool(row and row[0])
