"""What holds code: functions, triggers and views, one file each, replaced when the file changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import errors

from reaper.db.connection import Connection
from reaper.errors import MigrationError, MigrationRefused
from reaper.migrate import catalogue
from reaper.migrate.catalogue import Named
from reaper.migrate.files import checksum
from reaper.migrate.ledger import relation_exists

# Triggers last: their lock on the application's table lasts until the end of the transaction.
KINDS = ("functions", "internal", "views", "triggers")
_PASSES = 3
# "Cannot change": a return type, a parameter's name, a view's columns, the kind of a routine, a trigger.
_NOT_REPLACEABLE = (
    errors.InvalidFunctionDefinition,
    errors.InvalidTableDefinition,
    errors.WrongObjectType,
    errors.DuplicateObject,
)


@dataclass(frozen=True)
class CodeFile:
    """A script that makes one object, which has the file's name."""

    path: str
    sha256: str
    text: str

    @property
    def named(self) -> Named:
        """The object's kind and name."""
        return named(self.path)


@dataclass(frozen=True)
class CodePlan:
    """What differs between the files and what is loaded."""

    load: tuple[CodeFile, ...] = ()
    drop: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.load or self.drop)


def named(path: str) -> Named:
    """The object that a path below sql/ stands for."""
    return Named(path.split("/")[0], Path(path).stem)


def read(folder: Path) -> tuple[CodeFile, ...]:
    """The code files in the order in which they are loaded."""
    paths = [path for kind in KINDS for path in sorted((folder / kind).rglob("*.sql"))]
    return tuple(
        CodeFile(path.relative_to(folder).as_posix(), checksum(path), path.read_text(encoding="utf-8"))
        for path in paths
    )


def loaded(connection: Connection) -> dict[str, str]:
    """The checksum of each loaded file; empty without a ledger."""
    if not relation_exists(connection, "reaper", "code_files"):
        return {}
    return {
        row[0]: row[1]
        for row in connection.execute("select path, sha256 from reaper.code_files order by path")
    }


def plan(files: tuple[CodeFile, ...], loaded: dict[str, str]) -> CodePlan:
    """Compare files and ledger."""
    paths = {file.path for file in files}
    return CodePlan(
        load=tuple(file for file in files if loaded.get(file.path) != file.sha256),
        drop=tuple(path for path in loaded if path not in paths),
    )


@contextmanager
def _naming(file: CodeFile) -> Iterator[None]:
    """Say which file the server did not like; a busy table is another matter."""
    try:
        yield
    except (errors.LockNotAvailable, errors.DeadlockDetected):
        raise
    except psycopg.Error as error:
        raise MigrationError(
            f"sql/{file.path}: {error.diag.message_primary or error}", error.diag.message_hint
        ) from error


class CodeLoader:
    """Brings the code in the database to the state of the files, inside the caller's transaction."""

    def __init__(self, connection: Connection, files: Iterable[CodeFile]) -> None:
        self._connection = connection
        self._files = tuple(files)
        self._dropped = False

    def sync(self, changes: CodePlan, ownership: str) -> None:
        """Drop what vanished, load what changed, and give it all to its owner."""
        self._connection.execute("set local check_function_bodies = off")
        moved = {file.named for file in self._files}
        for path in changes.drop:
            # A file that moved to another folder is the same object.
            if named(path) not in moved:
                self._drop(named(path))
        self._load_all(changes.load)
        self._record(changes)
        self._connection.execute(ownership)

    def drop_all(self, paths: Iterable[str]) -> None:
        """Drop every object of these files and forget them; triggers and views go before functions."""
        for path in sorted(paths, key=lambda p: -KINDS.index(named(p).kind)):
            self._drop(named(path))
        self._connection.execute("delete from reaper.code_files")

    def _load_all(self, changed: tuple[CodeFile, ...]) -> None:
        """Load the changed files; after a drop, which may have taken dependents along, all of them."""
        batch = changed
        for _ in range(_PASSES):
            self._dropped = False
            for file in batch:
                with _naming(file):
                    self._load(file)
            if not self._dropped:
                return
            batch = self._files
        raise MigrationError("the code files undo each other: an object is dropped again on each pass")

    def _load(self, file: CodeFile) -> None:
        before = catalogue.routines(self._connection, file.named)
        try:
            self._execute(file)
        except _NOT_REPLACEABLE:
            self._drop(file.named)
            self._execute(file)
            return
        after = catalogue.routines(self._connection, file.named)
        if before and after.keys() - before.keys():
            self._drop_routines(before)
            self._execute(file)

    def _execute(self, file: CodeFile) -> None:
        with self._connection.transaction():
            self._connection.execute(file.text)

    def _drop(self, target: Named) -> None:
        if target.kind in catalogue.SCHEMAS:
            self._drop_routines(catalogue.routines(self._connection, target))
            return
        for statement in catalogue.drop_statements(self._connection, target):
            self._refuse_strangers(target, catalogue.relation_oids(self._connection, target))
            self._connection.execute(statement)
            self._dropped = True

    def _drop_routines(self, routines: dict[int, str]) -> None:
        for oid, signature in routines.items():
            self._refuse_strangers(signature, [("pg_proc", oid)])
            self._connection.execute(f"drop routine if exists {signature} cascade")
            self._dropped = True

    def _refuse_strangers(self, what: object, objects: list[tuple[str, int]]) -> None:
        """CASCADE must only take along what the files bring back."""
        ours = {file.named for file in self._files}
        ours |= {named(path) for path in loaded(self._connection)}
        if strangers := catalogue.dependents(self._connection, objects, ours):
            raise MigrationRefused(
                f"{what} must be dropped and made again, but {', '.join(strangers)} depends on it",
                "Drop what depends on it, migrate, and create it again.",
            )

    def _record(self, changes: CodePlan) -> None:
        gone = "delete from reaper.code_files where path = any(%s)"
        self._connection.execute(gone, (list(changes.drop),))
        with self._connection.cursor() as cursor:
            cursor.executemany(
                "insert into reaper.code_files (path, sha256) values (%s, %s)"
                " on conflict (path) do update set sha256 = excluded.sha256, applied_at = now()",
                [(file.path, file.sha256) for file in changes.load],
            )
