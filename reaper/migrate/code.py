"""What holds code: functions, triggers and views, one file each, replaced when the file changed."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from reaper.db.connection import Connection
from reaper.migrate.catalogue import Named
from reaper.migrate.ledger import relation_exists
from reaper.migrate.migration_files import checksum

# Triggers last: their lock on the application's table lasts until the end of the transaction.
KINDS = ("internal", "functions", "views", "triggers")
# The files name procrastinate's schema as it is by default: before its objects, and in search paths.
QUEUE = "procrastinate"
_QUEUE = re.compile(rf"\b{QUEUE}(?=\.{QUEUE}_)|(?<=reaper, ){QUEUE}(?=, pg_temp)")


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


def read(folder: Path, queue_schema: str = QUEUE) -> tuple[CodeFile, ...]:
    """The code files in the order in which they are loaded, for a queue in this schema."""
    paths = [path for kind in KINDS for path in sorted((folder / kind).rglob("*.sql"))]
    return tuple(_read_file(folder, path, queue_schema) for path in paths)


def _read_file(folder: Path, path: Path, queue_schema: str) -> CodeFile:
    text = path.read_text(encoding="utf-8")
    told = _QUEUE.sub(queue_schema, text)
    sha256 = checksum(path) if told == text else hashlib.sha256(told.encode()).hexdigest()
    return CodeFile(path.relative_to(folder).as_posix(), sha256, told)


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
