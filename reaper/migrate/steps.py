"""Running one migration, forward or back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reaper.db.connection import Connection
from reaper.migrate.files import Migration
from reaper.migrate.ledger import Ledger
from reaper.migrate.lock import MigrationLock
from reaper.migrate.patience import Patience

LOCK_TIMEOUT = "100ms"


@dataclass(frozen=True)
class Chain:
    """Migrations that share a schema and a ledger."""

    ledger: Ledger
    migrations: tuple[Migration, ...]


@dataclass(frozen=True)
class Stepper:
    """Takes single steps of a chain on one connection while the migration lock is held."""

    connection: Connection
    ledger: Ledger
    lock: MigrationLock
    patience: Patience

    def apply(self, migration: Migration) -> None:
        """Apply a migration and record it; one that is not transactional records itself at its end."""
        statements = () if self._is_needless(migration) else migration.statements
        self._run(migration, statements, lambda: self.ledger.record(self.connection, migration))

    def roll_back(self, migration: Migration) -> None:
        """Undo a migration and forget it."""
        self._run(migration, migration.rollback or (), lambda: self.ledger.forget(self.connection, migration))

    def _is_needless(self, migration: Migration) -> bool:
        if migration.skip_if is None:
            return False
        row = self.connection.execute(migration.skip_if).fetchone()
        return bool(row and row[0])

    def _run(self, migration: Migration, statements: tuple[str, ...], write_down: Callable[[], None]) -> None:
        self.lock.check()
        if migration.transactional:
            self.patience.run(migration.id, self.connection, lambda: self._together(statements, write_down))
            return
        for statement in statements:
            self.connection.execute(statement)
        self._together((), write_down)

    def _together(self, statements: tuple[str, ...], write_down: Callable[[], None]) -> None:
        with self.connection.transaction():
            self.connection.execute(f"set local lock_timeout = '{LOCK_TIMEOUT}'")
            for statement in statements:
                self.connection.execute(statement)
            write_down()
            self.lock.check()
