"""What holds code: functions, triggers and views, one file each, replaced when the file changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reaper.db.connection import Connection
from reaper.migrate.catalogue import Named
from reaper.migrate.ledger import relation_exists
from reaper.migrate.migration_files import checksum

# Triggers last: their lock on the application's table lasts until the end of the transaction.
KINDS = ("internal", "functions", "views", "triggers")


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
