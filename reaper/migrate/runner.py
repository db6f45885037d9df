"""Taking the steps of a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

import psycopg
from psycopg import errors
from psycopg.errors import Diagnostic

from reaper.db.connection import Connection, translate
from reaper.errors import DatabaseError, LockLost, MigrationError, MigrationRefused, ReaperError
from reaper.migrate import migrator_rights, step_list
from reaper.migrate.lock_retry import LockRetry
from reaper.migrate.migration_lock import MigrationLock
from reaper.migrate.plan import Plan
from reaper.migrate.report import Report
from reaper.migrate.step import Kind, Statement, Step

Say = Callable[[str], None]
_DONE = {Kind.APPLY: "applied", Kind.APPLY_PROCRASTINATE: "applied", Kind.ROLL_BACK: "rolled back"}
# What follows upon the drop of the code.
_WAY_BACK = (Kind.RELEASE_TABLE, Kind.ROLL_BACK)
_ON_ROLES = (Kind.CREATE_ROLES, Kind.GRANT_OWNER)


class Runner:
    """One run of the migrator; each step that it has taken stays taken."""

    def __init__(self, connection: Connection, lock: MigrationLock, retry: LockRetry, say: Say) -> None:
        self._connection = connection
        self._lock = lock
        self._retry = retry
        self._say = say
        self._running = Statement("")
        self.report = Report()

    def run(self, plan: Plan) -> Report:
        """Take every step, in order."""
        self._connection.add_notice_handler(self._hear)
        if plan.role_problem:
            raise plan.role_problem
        self.report.warnings += plan.warnings
        for step in plan.steps:
            self._announce(step, plan)
            try:
                self._take(step, plan)
            except LockLost:
                raise
            except ReaperError:
                if step.kind in _WAY_BACK:
                    self._restore_code(plan)
                raise
        self.report.added += [addition for note in plan.tables for addition in note.additions]
        self._conclude(plan)
        return self.report

    def _hear(self, notice: Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING" and notice.message_primary:
            self.report.warnings.append(notice.message_primary)

    def _announce(self, step: Step, plan: Plan) -> None:
        if step.kind is Kind.APPLY:
            self._say(f"applying {step.name}")
        elif step.kind is Kind.ROLL_BACK:
            self._say(f"rolling back {step.name}")
        elif step.kind is Kind.APPLY_PROCRASTINATE and not self.report.procrastinate:
            self._say(f"applying {len(plan.names(step.kind))} migrations of procrastinate")

    def _take(self, step: Step, plan: Plan) -> None:
        self._lock.check()
        try:
            if step.repeatable:
                self._retry.run(step.name, self._connection, lambda: self._attempt(step))
            else:
                self._attempt(step)
        except psycopg.Error as error:
            raise self._failure(step, plan, error) from error
        if step.kind is Kind.GRANT_OWNER:
            migrator_rights.require_owner_rights(self._connection, plan.rights.user)
        self.report.add(step)

    def _attempt(self, step: Step) -> None:
        if step.kind in _ON_ROLES:
            migrator_rights.outlast_races(lambda: self._do(step))
        else:
            self._do(step)

    def _do(self, step: Step) -> None:
        work = () if self._is_needless(step) else step.statements
        if step.transactional:
            self._together((*step.settings, *work, *step.record))
            return
        self._execute((*step.settings, *work))
        if step.record:
            self._together(step.record)

    def _is_needless(self, step: Step) -> bool:
        if step.skip_if is None:
            return False
        row = self._connection.execute(step.skip_if).fetchone()
        return bool(row and row[0])

    def _together(self, statements: Iterable[Statement]) -> None:
        with self._connection.transaction():
            self._execute(statements)
            self._lock.check()

    def _execute(self, statements: Iterable[Statement]) -> None:
        for statement in statements:
            self._running = statement
            if statement.text.strip():
                self._connection.execute(statement.text)

    def _restore_code(self, plan: Plan) -> None:
        """The code was dropped for a way back that did not begin: bring it back.

        Views cannot be where columns were dropped from the application's table already; then nothing is
        claimed until the next migration, in whichever direction. What stopped the way back is told, not this.
        """
        if self.report.rolled_back or self._connection.closed:
            return
        with suppress(ReaperError):
            for step in step_list.restore_code(self._connection, plan.release):
                self._take(step, plan)

    def _conclude(self, plan: Plan) -> None:
        self.report.version = max(plan.release.own.ledger.applied(self._connection), default=None)
        if not self.report.rolled_back:
            return
        self.report.notes.append(f"schema {plan.release.queue_schema} is kept: procrastinate has no rollback")
        if self.report.version is None:
            self.report.notes.append(
                "the ledger in schema reaper and the roles are kept; drop them by hand if not needed"
            )
        else:
            self.report.notes.append(f"now install the release whose last migration is {self.report.version}")

    def _failure(self, step: Step, plan: Plan, error: psycopg.Error) -> ReaperError:
        if step.kind is Kind.GRANT_OWNER and isinstance(error, errors.InsufficientPrivilege):
            return migrator_rights.refusal(plan.rights, plan.release.roles_script)
        if step.kind in (Kind.LOAD_CODE, Kind.DROP_CODE):
            return _code_failure(self._running, error)
        if step.kind is Kind.PREPARE_TABLE and isinstance(error, errors.UniqueViolation):
            return MigrationRefused(
                f"{step.title}: {error.diag.message_detail or error}",
                "Two contents name one object, and would lose it together: give one of them another key, or"
                " bind object_key to what really names the objects; then migrate again.",
            )
        ours = translate(error)
        done = _DONE.get(step.kind)
        message = f"{step.name} was not {done}: {ours.message}" if done else f"{step.title}: {ours.message}"
        if isinstance(ours, DatabaseError):
            return type(ours)(message, ours.hint, error.sqlstate)
        return type(ours)(message, ours.hint)


def _code_failure(statement: Statement, error: psycopg.Error) -> ReaperError:
    """Which file the server did not like, or what a DBA built upon an object that must go."""
    file = f"sql/{statement.file}: " if statement.file else ""
    message = f"{file}{error.diag.message_primary or error}"
    if isinstance(error, errors.DependentObjectsStillExist):
        dependents = "; ".join((error.diag.message_detail or "").splitlines())
        return MigrationRefused(
            f"{message}: {dependents}", "Drop what depends on it, migrate, and create it again."
        )
    return MigrationError(message, error.diag.message_hint)
