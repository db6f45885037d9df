"""Carrying a plan out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import psycopg
from psycopg.errors import Diagnostic

from reaper.db.connection import Connection, translate
from reaper.errors import DatabaseError, ReaperError, TableBusy
from reaper.migrate import code, leftovers, procrastinate, roles
from reaper.migrate import plan as planning
from reaper.migrate.code import CodeLoader
from reaper.migrate.files import BASE, Migration
from reaper.migrate.lock import MigrationLock
from reaper.migrate.patience import Patience
from reaper.migrate.plan import REAPER, Plan
from reaper.migrate.session import session
from reaper.migrate.source import Source
from reaper.migrate.steps import LOCK_TIMEOUT, Chain, Stepper

Say = Callable[[str], None]


@dataclass
class Report:
    """What a migration did."""

    roles: list[str] = field(default_factory=list)
    dropped_indexes: list[str] = field(default_factory=list)
    procrastinate: list[str] = field(default_factory=list)
    rolled_back: list[str] = field(default_factory=list)
    applied: list[str] = field(default_factory=list)
    code_loaded: list[str] = field(default_factory=list)
    code_dropped: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    version: str | None = None

    @property
    def changed(self) -> bool:
        """Whether anything was changed."""
        return any(
            (self.roles, self.dropped_indexes, self.procrastinate, self.rolled_back, self.applied, self.code)
        )

    @property
    def code(self) -> list[str]:
        """Every code file that was loaded or dropped."""
        return self.code_loaded + self.code_dropped

    def as_dict(self) -> dict[str, Any]:
        """The report for machines."""
        return {**asdict(self), "changed": self.changed}


class Runner:
    """One run of the migrator; each step that it has taken stays taken."""

    def __init__(self, dsn: str, source: Source, lock: MigrationLock, patience: Patience, say: Say) -> None:
        self._dsn = dsn
        self._source = source
        self._lock = lock
        self._patience = patience
        self._say = say
        self.report = Report()

    def run(self, to: str | None) -> Report:
        """Look, and do what is to be done."""
        with session(self._dsn, "reaper") as connection:
            connection.add_notice_handler(self._hear)
            plan = planning.make(connection, self._source, to)
            if plan.role_problem:
                raise plan.role_problem
            self.report.warnings += plan.warnings
            self._carry_out(connection, plan)
            self._conclude(connection, plan, to)
        return self.report

    def _hear(self, notice: Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING" and notice.message_primary:
            self.report.warnings.append(notice.message_primary)

    def _carry_out(self, connection: Connection, plan: Plan) -> None:
        self._prepare(connection, plan)
        self._procrastinate(plan)
        if plan.rollbacks:
            self._go_back(connection, plan)
        for index in plan.unfinished_indexes:
            self._lock.check()
            leftovers.drop(connection, self._patience, index)
            self.report.dropped_indexes.append(index.as_string())
        stepper = self._stepper(connection, plan.release.chain)
        for migration in plan.migrations:
            self._say(f"applying {migration.id}")
            self._forward(stepper, migration, self.report.applied)
        if plan.syncs_code:
            self._sync_code(connection, plan, plan.code)
        elif plan.migrations:
            self._give_to_owner(connection, plan)

    def _prepare(self, connection: Connection, plan: Plan) -> None:
        self.report.roles += roles.ensure(connection, plan.release.roles_script)
        for chain in (plan.release.chain, plan.release.procrastinate):
            if not chain.migrations:
                continue
            self._lock.check()
            if chain.ledger.schema in plan.ledgers:
                chain.ledger.create(connection)
            chain.ledger.clear_stale_lock(connection)

    def _procrastinate(self, plan: Plan) -> None:
        if not plan.procrastinate:
            return
        self._say(f"applying {len(plan.procrastinate)} migrations of procrastinate")
        with session(self._dsn, procrastinate.SCHEMA) as connection:
            connection.execute("set role reaper_owner")
            stepper = self._stepper(connection, plan.release.procrastinate)
            for migration in plan.procrastinate:
                self._forward(stepper, migration, self.report.procrastinate)
            connection.execute(procrastinate.GRANTS)

    def _forward(self, stepper: Stepper, migration: Migration, done: list[str]) -> None:
        try:
            stepper.apply(migration)
        except psycopg.Error as error:
            raise _failed(migration, error, "applied") from error
        done.append(migration.id)

    def _go_back(self, connection: Connection, plan: Plan) -> None:
        """Code goes first, it uses the tables; it comes back when the first rollback refuses."""
        self._drop_code(connection, plan)
        stepper = self._stepper(connection, plan.release.chain)
        for migration in plan.rollbacks:
            self._say(f"rolling back {migration.id}")
            try:
                stepper.roll_back(migration)
            except TableBusy:
                self._restore_code(connection, plan)
                raise
            except psycopg.Error as error:
                self._restore_code(connection, plan)
                raise _failed(migration, error, "rolled back") from error
            self.report.rolled_back.append(migration.id)

    def _give_to_owner(self, connection: Connection, plan: Plan) -> None:
        def give() -> None:
            with connection.transaction():
                self._be_brief(connection)
                connection.execute(plan.release.ownership_script)

        self._patience.run("giving all to its owner", connection, give)

    def _drop_code(self, connection: Connection, plan: Plan) -> None:
        def drop() -> None:
            with connection.transaction():
                self._be_brief(connection)
                CodeLoader(connection, plan.release.code).drop_all(plan.drops_code)
                self._lock.check()

        self._patience.run("dropping functions and views", connection, drop)
        self.report.code_dropped += plan.drops_code

    def _restore_code(self, connection: Connection, plan: Plan) -> None:
        if self.report.rolled_back or connection.closed:
            return
        self._sync_code(connection, plan, code.plan(plan.release.code, code.loaded(connection)))

    def _sync_code(self, connection: Connection, plan: Plan, changes: code.CodePlan) -> None:
        """Load what changed, and see to it that all has its owner: a killed run may have left that undone."""

        def load() -> None:
            with connection.transaction():
                self._be_brief(connection)
                CodeLoader(connection, plan.release.code).sync(changes, plan.release.ownership_script)
                self._lock.check()

        self._lock.check()
        self._patience.run("loading functions, triggers and views", connection, load)
        self.report.code_loaded += [file.path for file in changes.load]
        self.report.code_dropped += changes.drop

    def _be_brief(self, connection: Connection) -> None:
        connection.execute(f"set local lock_timeout = '{LOCK_TIMEOUT}'")

    def _stepper(self, connection: Connection, chain: Chain) -> Stepper:
        return Stepper(connection, chain.ledger, self._lock, self._patience)

    def _conclude(self, connection: Connection, plan: Plan, to: str | None) -> None:
        self.report.version = max(REAPER.applied(connection), default=None)
        if not plan.rollbacks:
            return
        self.report.notes.append("schema procrastinate was left alone: its package has no way back")
        if to == BASE:
            self.report.notes.append(
                "the ledger in schema reaper and the roles are left; drop them by hand if wanted"
            )
        else:
            self.report.notes.append(f"now install the release whose last migration is {self.report.version}")


def _failed(migration: Migration, error: psycopg.Error, done: str) -> ReaperError:
    ours = translate(error)
    message = f"{migration.id} was not {done}: {ours.message}"
    if isinstance(ours, DatabaseError):
        return type(ours)(message, ours.hint, error.sqlstate)
    return type(ours)(message, ours.hint)
