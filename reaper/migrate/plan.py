"""What a migration would do here and now, found out without changing anything."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from psycopg import sql

from reaper.db.connection import Connection
from reaper.errors import MigrationRefused
from reaper.migrate import code, files, leftovers, preflight, procrastinate, roles
from reaper.migrate.code import CodeFile, CodePlan
from reaper.migrate.files import Migration
from reaper.migrate.ledger import Ledger, refuse_unreleased_past, verify_checksums
from reaper.migrate.source import Source
from reaper.migrate.steps import Chain

REAPER = Ledger("reaper", with_code=True)


@dataclass(frozen=True)
class Release:
    """The files of the installed release."""

    chain: Chain
    procrastinate: Chain
    code: tuple[CodeFile, ...]
    roles_script: str
    ownership_script: str


@dataclass(frozen=True)
class Plan:
    """The steps, in order: roles, ledger, unfinished indexes, procrastinate, rollbacks, migrations, code."""

    release: Release = field(repr=False)
    user: str
    roles: tuple[str, ...]
    ledgers: tuple[str, ...]
    unfinished_indexes: tuple[sql.Identifier, ...]
    procrastinate: tuple[Migration, ...]
    rollbacks: tuple[Migration, ...]
    migrations: tuple[Migration, ...]
    code: CodePlan
    syncs_code: bool
    drops_code: tuple[str, ...]
    warnings: tuple[str, ...]
    role_problem: MigrationRefused | None = None

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        work = (
            self.roles,
            self.ledgers,
            self.procrastinate,
            self.rollbacks,
            self.migrations,
            self.code,
            self.drops_code,
        )
        return not any(work)

    def as_dict(self) -> dict[str, Any]:
        """The plan for machines."""
        return {
            "roles": list(self.roles),
            "unfinished_indexes": [index.as_string() for index in self.unfinished_indexes],
            "procrastinate": [m.id for m in self.procrastinate],
            "rollbacks": [_step(m) for m in self.rollbacks],
            "migrations": [_step(m) for m in self.migrations],
            "code": [file.path for file in self.code.load],
            "dropped_code": [*self.code.drop, *self.drops_code],
            "warnings": list(self.warnings),
            "empty": self.empty,
        }


def read_release(source: Source) -> Release:
    """Read the files once."""
    return Release(
        chain=Chain(REAPER, files.read(source.migrations)),
        procrastinate=procrastinate.chain(source.procrastinate),
        code=code.read(source.sql),
        roles_script=_text(source, "roles.sql"),
        ownership_script=_text(source, "ownership.sql"),
    )


def make(connection: Connection, source: Source, to: str | None = None) -> Plan:
    """Look at the database and compare it with the release; refuse what cannot be migrated."""
    release = read_release(source)
    preflight.check_server(connection)
    applied = REAPER.applied(connection)
    refuse_unreleased_past(applied, release.chain.migrations)
    verify_checksums(applied, release.chain.migrations, "schema reaper")
    ups, downs = _moves(release.chain.migrations, applied, to)
    jobs = _procrastinate_steps(connection, release.procrastinate) if ups or not downs else ()
    warnings = preflight.check_adoptable(connection, source.sql / "checks" / "adoptable.sql") if ups else []
    now = roles.standing(connection)
    ledgers = [chain.ledger for chain in (release.chain, release.procrastinate) if chain.migrations]
    missing = [ledger.schema for ledger in ledgers if not ledger.exists(connection)]
    preflight.check_may_create_schemas(connection, missing)
    changes, syncs = _code_changes(connection, release, applied, ups, downs)
    return Plan(
        release=release,
        user=now.user,
        roles=now.missing,
        ledgers=tuple(missing),
        unfinished_indexes=tuple(leftovers.invalid_indexes(connection, ups)),
        procrastinate=jobs,
        rollbacks=downs,
        migrations=ups,
        code=changes,
        syncs_code=syncs,
        drops_code=tuple(code.loaded(connection)) if downs else (),
        warnings=tuple(warnings),
        role_problem=roles.refusal(now, release.roles_script) if now.problem else None,
    )


def _moves(
    known: tuple[Migration, ...], applied: dict[str, str], to: str | None
) -> tuple[tuple[Migration, ...], tuple[Migration, ...]]:
    """The migrations to apply and those to roll back, each in its order."""
    target = len(known) - 1 if to is None else files.find(known, to)
    ups = tuple(m for m in known[: target + 1] if m.id not in applied)
    downs = tuple(m for m in reversed(known[target + 1 :]) if m.id in applied)
    return ups, downs


def _procrastinate_steps(connection: Connection, chain: Chain) -> tuple[Migration, ...]:
    applied = chain.ledger.applied(connection)
    if not chain.migrations:
        return ()
    preflight.check_procrastinate(connection, applied)
    verify_checksums(applied, chain.migrations, "schema procrastinate")
    return tuple(m for m in chain.migrations if m.id not in applied)


def _code_changes(
    connection: Connection,
    release: Release,
    applied: dict[str, str],
    ups: tuple[Migration, ...],
    downs: tuple[Migration, ...],
) -> tuple[CodePlan, bool]:
    """Code belongs to the newest migration: anywhere before it, nothing is loaded."""
    reached = applied.keys() | {m.id for m in ups}
    if downs or any(m.id not in reached for m in release.chain.migrations):
        return CodePlan(), False
    return code.plan(release.code, code.loaded(connection)), True


def _step(migration: Migration) -> dict[str, Any]:
    return {
        "id": migration.id,
        "summary": migration.summary,
        "locks": migration.locks,
        "transactional": migration.transactional,
    }


def _text(source: Source, name: str) -> str:
    path = source.sql / name
    return path.read_text(encoding="utf-8") if path.exists() else ""
