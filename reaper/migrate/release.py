"""What the installed release consists of, read from its folders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reaper.migrate import code, procrastinate_schema
from reaper.migrate.code import CodeFile
from reaper.migrate.ledger import Ledger, MigrationChain
from reaper.migrate.migration_files import read_migrations
from reaper.migrate.release_folders import ReleaseFolders

LEDGER = Ledger("reaper", with_code=True)


@dataclass(frozen=True)
class Release:
    """The migrations, the code and the scripts of a release."""

    own: MigrationChain
    procrastinate: MigrationChain
    code: tuple[CodeFile, ...]
    roles_script: str
    ownership_script: str
    adoption_check: str
    # For databases with Citus.
    distribution_check: str
    queue_schema: str
    # Whether procrastinate is there by the hand of others, who upgrade it.
    queue_of_others: bool = False

    @property
    def binds(self) -> bool:
        """Whether it works on tables of an application."""
        return any(file.path == "functions/binding/bind.sql" for file in self.code)

    @property
    def chains(self) -> tuple[MigrationChain, ...]:
        """Those that have migrations."""
        return tuple(chain for chain in (self.own, self.procrastinate) if chain.migrations)


def read_release(folders: ReleaseFolders, queue_schema: str = procrastinate_schema.DEFAULT) -> Release:
    """Read the files once; procrastinate's tables are, or will be, in that schema."""
    return Release(
        own=MigrationChain(LEDGER, read_migrations(folders.migrations)),
        procrastinate=procrastinate_schema.read_chain(folders.procrastinate, queue_schema),
        code=code.read(folders.sql, queue_schema),
        roles_script=_text(folders.sql / "roles.sql"),
        ownership_script=_text(folders.sql / "ownership.sql"),
        adoption_check=_text(folders.sql / "checks" / "adoptable.sql"),
        distribution_check=_text(folders.sql / "checks" / "distributed.sql"),
        queue_schema=queue_schema,
    )


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""
