"""What a migration would do here and now, found out without changing anything."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from reaper.db.connection import Connection
from reaper.errors import MigrationRefused
from reaper.migrate import migrator_rights, preflight, step_list
from reaper.migrate.connection import session_settings
from reaper.migrate.ledger import MigrationChain
from reaper.migrate.ledger_checks import refuse_unreleased_past, verify_checksums
from reaper.migrate.migration_files import Migration, position_of
from reaper.migrate.migrator_rights import MigratorRights
from reaper.migrate.release import Release, read_release
from reaper.migrate.release_folders import ReleaseFolders
from reaper.migrate.step import Kind, Step
from reaper.migrate.step_list import Moves

SEARCH_PATH = "reaper"
INTERNAL_SCHEMA = "reaper_internal"


@dataclass(frozen=True)
class Plan:
    """The steps in order, and what is to be said before the first of them."""

    steps: tuple[Step, ...]
    warnings: tuple[str, ...]
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

    def names(self, kind: Kind) -> list[str]:
        """What the steps of one kind are about: ids of migrations, paths of files …"""
        return [name for step in self.steps if step.kind is kind for name in step.names]

    def as_dict(self) -> dict[str, Any]:
        """The plan for machines."""
        return {
            "steps": [step.as_dict() for step in self.steps],
            "warnings": list(self.warnings),
            "empty": self.empty,
        }


def make(connection: Connection, folders: ReleaseFolders, to: str | None = None) -> Plan:
    """Look at the database and compare it with the release; refuse what cannot be migrated."""
    release = read_release(folders)
    preflight.check_server(connection)
    moves = _moves(connection, release, to)
    warnings = preflight.check_adoptable(connection, release.adoption_check) if moves.forward else []
    rights = migrator_rights.migrator_rights(connection)
    preflight.check_may_create_schemas(connection, _schemas(release, moves))
    return Plan(
        steps=step_list.build(connection, release, rights, moves),
        warnings=tuple(warnings),
        release=release,
        rights=rights,
        session=session_settings(connection.info.server_version, SEARCH_PATH),
    )


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
    )


def _pending_procrastinate(connection: Connection, chain: MigrationChain) -> tuple[Migration, ...]:
    if not chain.migrations:
        return ()
    applied = chain.ledger.applied(connection)
    preflight.check_procrastinate(connection, applied)
    verify_checksums(applied, chain.migrations, "schema procrastinate")
    return tuple(m for m in chain.migrations if m.id not in applied)


def _schemas(release: Release, moves: Moves) -> list[str]:
    """The schemas that will be made where they are missing."""
    return [chain.ledger.schema for chain in release.chains] + ([INTERNAL_SCHEMA] if moves.forward else [])
