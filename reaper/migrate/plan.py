"""What a migration would do here and now, found out without changing anything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from psycopg import errors

from reaper.db.connection import Connection
from reaper.errors import MigrationRefused
from reaper.migrate import (
    binding_checks,
    binding_plan,
    migrator_rights,
    preflight,
    procrastinate_schema,
    step_list,
)
from reaper.migrate.binding import recorded
from reaper.migrate.binding_plan import BindingPlan, Request
from reaper.migrate.bound_tables import missing_tables
from reaper.migrate.connection import session_settings
from reaper.migrate.ledger import MigrationChain, relation_exists
from reaper.migrate.ledger_checks import refuse_unreleased_past, verify_checksums
from reaper.migrate.migration_files import Migration, position_of
from reaper.migrate.migrator_rights import MigratorRights
from reaper.migrate.release import Release, read_release
from reaper.migrate.release_folders import ReleaseFolders
from reaper.migrate.service_registration import ServiceDefaults
from reaper.migrate.step import Kind, Step
from reaper.migrate.step_list import Moves
from reaper.migrate.table_notes import TableNote, notes

SEARCH_PATH = "reaper"
INTERNAL_SCHEMA = "reaper_internal"


@dataclass(frozen=True)
class Plan:
    """The steps in order, and what is to be said before the first of them."""

    steps: tuple[Step, ...]
    warnings: tuple[str, ...]
    # What will happen to each table of the application.
    tables: tuple[TableNote, ...]
    release: Release = field(repr=False)
    rights: MigratorRights = field(repr=False)
    # What makes a session fit to run the steps.
    session: tuple[str, ...] = field(repr=False)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.steps

    @property
    def role_problem(self) -> MigrationRefused | None:
        """Why the role that asked cannot carry it out."""
        return (
            migrator_rights.refusal(self.rights, self.release.roles_script) if self.rights.problem else None
        )

    @property
    def all_warnings(self) -> list[str]:
        """What a person must know before: first, why the role that asked cannot carry it out."""
        problem = self.role_problem
        return [*([f"{problem.message}. {problem.hint}"] if problem else []), *self.warnings]

    def names(self, kind: Kind) -> list[str]:
        """What the steps of one kind are about: ids of migrations, paths of files …"""
        return [name for step in self.steps if step.kind is kind for name in step.names]

    def as_dict(self) -> dict[str, Any]:
        """The plan for machines."""
        return {
            "tables": [note.as_dict() for note in self.tables],
            "steps": [step.as_dict() for step in self.steps],
            "warnings": self.all_warnings,
            "empty": self.empty,
        }


def make(
    connection: Connection,
    folders: ReleaseFolders,
    to: str | None = None,
    request: Request | None = None,
    services: Iterable[ServiceDefaults] = (),
) -> Plan:
    """Look at the database and compare it with the release; refuse what cannot be migrated."""
    preflight.check_server(connection)
    rights = migrator_rights.migrator_rights(connection)
    try:
        return _compare(connection, folders, to, request, services, rights)
    except errors.InsufficientPrivilege as error:
        if rights.is_owner:
            raise
        raise migrator_rights.unreadable(rights, error) from error


def _compare(
    connection: Connection,
    folders: ReleaseFolders,
    to: str | None,
    request: Request | None,
    services: Iterable[ServiceDefaults],
    rights: MigratorRights,
) -> Plan:
    release = _release(connection, folders, request or Request())
    moves = _moves(connection, release, to)
    tables = _tables(connection, release, moves, request or Request())
    warnings = _check_tables(connection, release, moves, tables)
    preflight.check_may_create_schemas(connection, _schemas(release, moves))
    steps = step_list.build(connection, release, rights, moves, tables, services)
    preflight.check_losses(connection, steps)
    return Plan(
        steps=steps,
        warnings=tuple(warnings),
        tables=_notes(connection, release, moves, tables, steps),
        release=release,
        rights=rights,
        session=session_settings(connection.info.server_version, SEARCH_PATH),
    )


def _release(connection: Connection, folders: ReleaseFolders, request: Request) -> Release:
    """The release for the queue of this database, which others may have made."""
    schema = request.queue_schema or procrastinate_schema.recorded(connection)
    release = read_release(folders, schema)
    if not release.procrastinate.migrations:
        return release
    procrastinate_schema.check_name(connection, schema)
    if not procrastinate_schema.is_of_others(connection, release.procrastinate):
        return release
    procrastinate_schema.check_usable(connection, schema)
    nothing = procrastinate_schema.read_chain(None, schema)
    return replace(release, procrastinate=nothing, queue_of_others=True)


def _tables(connection: Connection, release: Release, moves: Moves, request: Request) -> BindingPlan:
    """What is to be done about the application's tables; nothing on a way back."""
    if not release.binds or moves.back:
        return BindingPlan()
    tables = binding_plan.make(connection, request)
    # Anywhere before the newest migration no code is loaded, and the views are made by code.
    return tables if moves.reaches_newest else replace(tables, prepare=(), views=())


def _notes(
    connection: Connection, release: Release, moves: Moves, tables: BindingPlan, steps: tuple[Step, ...]
) -> tuple[TableNote, ...]:
    before = recorded(connection) if release.binds else None
    gone = missing_tables(connection, before) if before else []
    found = notes(before, tables, steps, bool(moves.back), moves.to_base)
    return tuple(note for note in found if note.table not in gone)


def _check_tables(connection: Connection, release: Release, moves: Moves, tables: BindingPlan) -> list[str]:
    if tables.adopts is None or not (moves.forward or tables.changed or tables.views):
        return []
    scripts = [release.adoption_check]
    if relation_exists(connection, "pg_catalog", "pg_dist_partition"):
        scripts.append(release.distribution_check)
    warnings = preflight.check_adoptable(connection, scripts, tables.adopts)
    binding_checks.check_doubled_status(connection, tables.adopts)
    binding_checks.check_states(connection, tables.adopts)
    binding_checks.check_key_expression(connection, tables.adopts.content)
    return warnings


def _moves(connection: Connection, release: Release, to: str | None) -> Moves:
    known = release.own.migrations
    applied = release.own.ledger.applied(connection)
    refuse_unreleased_past(applied, known)
    verify_checksums(applied, known, "schema reaper")
    target = len(known) - 1 if to is None else position_of(known, to)
    forward = tuple(m for m in known[: target + 1] if m.id not in applied)
    back = tuple(m for m in reversed(known[target + 1 :]) if m.id in applied)
    return Moves(
        procrastinate=_pending_procrastinate(connection, release.procrastinate)
        if forward or not back
        else (),
        back=back,
        forward=forward,
        reaches_newest=not back and target == len(known) - 1,
        to_base=target < 0,
    )


def _pending_procrastinate(connection: Connection, chain: MigrationChain) -> tuple[Migration, ...]:
    if not chain.migrations:
        return ()
    applied = chain.ledger.applied(connection)
    verify_checksums(applied, chain.migrations, f"schema {chain.ledger.schema}")
    return tuple(m for m in chain.migrations if m.id not in applied)


def _schemas(release: Release, moves: Moves) -> list[str]:
    """The schemas that will be made where they are missing."""
    return [chain.ledger.schema for chain in release.chains] + ([INTERNAL_SCHEMA] if moves.forward else [])
