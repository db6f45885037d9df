"""The migration files of a folder: what they say about themselves, and their checksums."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from yoyo.migrations import get_migration_hash, read_sql_migration  # type: ignore[import-untyped]

from reaper.errors import BadMigration, MigrationRefused

ROLLBACK = ".rollback.sql"
BASE = "base"
_NAME = re.compile(r"^\d{4}\.[a-z0-9][a-z0-9_-]*$")
_DIRECTIVE = re.compile(r"^(locks|depends|transactional|skip-if|guarded)\s*:\s*(.*)$")


@dataclass(frozen=True)
class Rollback:
    """The way back of one migration."""

    summary: str
    locks: str
    statements: tuple[str, ...] = field(repr=False)
    # Whether the first statement only looks whether something would be lost, and raises RP007 then.
    guarded: bool = False


@dataclass(frozen=True)
class Migration:
    """One step that changes what holds data, with the way back.

    `skip_if` is a query; where it returns true the step counts as applied without running: a statement that
    must stand outside a transaction cannot be wrapped in a condition of its own.
    """

    id: str
    sha256: str
    summary: str
    locks: str
    depends: frozenset[str]
    transactional: bool
    skip_if: str | None
    statements: tuple[str, ...] = field(repr=False)
    rollback: Rollback | None = field(repr=False)

    @property
    def number(self) -> str:
        """What stands before the first dot of the id."""
        return self.id.split(".")[0]

    @property
    def hash(self) -> str:
        """The key under which yoyo's own tables know this migration."""
        return str(get_migration_hash(self.id))


def checksum(path: Path) -> str:
    """SHA-256 of a text file; a checkout with CRLF line ends counts as the same file."""
    return hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest()


def read_migrations(folder: Path) -> tuple[Migration, ...]:
    """Our own migrations in the order in which they run; BadMigration lists every broken rule."""
    migrations = read_foreign_migrations(folder)
    if problems := [text for m in migrations for text in _problems(m)] + _order_problems(migrations):
        raise BadMigration("the migrations of this release are broken: " + "; ".join(problems))
    return migrations


def read_foreign_migrations(folder: Path) -> tuple[Migration, ...]:
    """Another package's migrations in the order of their names, without our rules for headers."""
    return tuple(_read_one(path) for path in _forward(folder))


def migration_ids(folder: Path) -> list[str]:
    """The migrations' ids in order, without a look at what they do: every command asks for them."""
    return [path.stem for path in _forward(folder)]


def position_of(migrations: tuple[Migration, ...], wanted: str) -> int:
    """The position of an id, or of its number alone; -1 stands for `base`."""
    if wanted == BASE:
        return -1
    for position, migration in enumerate(migrations):
        if wanted in (migration.id, migration.number):
            return position
    known = ", ".join([BASE, *(m.id for m in migrations)])
    raise MigrationRefused(f"unknown migration {wanted!r}", f"Known migrations: {known}")


def _forward(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob("*.sql")) if not path.name.endswith(ROLLBACK)]


def _read_one(path: Path) -> Migration:
    sha256 = checksum(path)
    directives, statements = _split(path, sha256)
    header = _header(path.read_text(encoding="utf-8"))
    return Migration(
        id=path.stem,
        sha256=sha256,
        summary=_first_sentence(header[""]),
        locks=header["locks"],
        depends=frozenset(directives.get("depends", "").split()),
        transactional=directives.get("transactional", "true").strip().lower() != "false",
        skip_if=header["skip-if"] or None,
        statements=statements,
        rollback=_read_rollback(path.with_name(path.stem + ROLLBACK)),
    )


def _read_rollback(path: Path) -> Rollback | None:
    if not path.exists():
        return None
    header = _header(path.read_text(encoding="utf-8"))
    return Rollback(
        _first_sentence(header[""]),
        header["locks"],
        _split(path, checksum(path))[1],
        header["guarded"] == "true",
    )


@cache
def _split(path: Path, _sha256: str) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """A file's directives and statements; to split it takes as long as to run it, so it is done once."""
    directives, _, statements = read_sql_migration(str(path))
    return directives, tuple(statements)


def _header(text: str) -> defaultdict[str, str]:
    """The leading comment by directive, its prose under ""; deeper lines continue a directive."""
    parts: defaultdict[str, list[str]] = defaultdict(list)
    current = ""
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        body = line[2:]
        if directive := _DIRECTIVE.match(body.strip()):
            current = directive[1]
            body = directive[2]
        elif not body.startswith("  "):
            current = ""
        parts[current].append(body.strip())
    return defaultdict(str, {name: " ".join(words).strip() for name, words in parts.items()})


def _first_sentence(prose: str) -> str:
    return re.split(r"(?<=[.!?])\s", prose, maxsplit=1)[0]


def _problems(migration: Migration) -> list[str]:
    problems = []
    if not _NAME.match(migration.id):
        problems.append(f"{migration.id}: the name is not of the form NNNN.name")
    if migration.rollback is None:
        problems.append(f"{migration.id}: no {migration.id}{ROLLBACK}")
    else:
        problems += _header_problems(migration.id + ROLLBACK, migration.rollback)
    return problems + _header_problems(migration.id, migration)


def _header_problems(name: str, part: Migration | Rollback) -> list[str]:
    problems = [] if part.summary else [f"{name}: no header says what it does"]
    return problems + ([] if part.locks else [f"{name}: no '-- locks:' line says what it locks"])


def _order_problems(migrations: tuple[Migration, ...]) -> list[str]:
    problems: list[str] = []
    seen: set[str] = set()
    numbers: set[str] = set()
    for migration in migrations:
        if migration.number in numbers:
            problems.append(f"{migration.id}: the number {migration.number} is taken twice")
        problems += [
            f"{migration.id}: depends on {d}, which does not come before it" for d in migration.depends - seen
        ]
        seen.add(migration.id)
        numbers.add(migration.number)
    return problems
