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

    @property
    def chains(self) -> tuple[MigrationChain, ...]:
        """Those that have migrations."""
        return tuple(chain for chain in (self.own, self.procrastinate) if chain.migrations)


def read_release(folders: ReleaseFolders) -> Release:
    """Read the files once."""
    return Release(
        own=MigrationChain(LEDGER, read_migrations(folders.migrations)),
        procrastinate=procrastinate_schema.read_chain(folders.procrastinate),
        code=code.read(folders.sql),
        roles_script=_text(folders.sql / "roles.sql"),
        ownership_script=_text(folders.sql / "ownership.sql"),
        adoption_check=_text(folders.sql / "checks" / "adoptable.sql"),
    )


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""
