"""Where the SQL of this release is: inside the wheel, or beside the package in a checkout."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources, util
from pathlib import Path

from reaper.errors import BadMigration


@dataclass(frozen=True)
class ReleaseFolders:
    """The folders that a migration is made from; without `procrastinate` its schema is left out."""

    migrations: Path
    sql: Path
    procrastinate: Path | None = None


def installed_folders() -> ReleaseFolders:
    """The folders of the installed release."""
    root = _data_root()
    return ReleaseFolders(root / "migrations", root / "sql", _procrastinate_migrations())


def _data_root() -> Path:
    package = Path(str(resources.files("reaper")))
    for root in (package / "_data", package.parent):
        if (root / "migrations").is_dir() and (root / "sql").is_dir():
            return root
    raise BadMigration(
        "this installation of reaper has no sql/ and migrations/ folders",
        "Install reaper again from a wheel, or run it from a checkout.",
    )


def _procrastinate_migrations() -> Path:
    # find_spec does not import the package, which would cost more than all the rest of the start.
    spec = util.find_spec("procrastinate")
    if spec is None or not spec.submodule_search_locations:
        raise BadMigration(
            "procrastinate is not installed", "Install reaper again: it depends on procrastinate."
        )
    return Path(spec.submodule_search_locations[0]) / "sql" / "migrations"
