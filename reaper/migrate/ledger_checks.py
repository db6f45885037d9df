"""Whether the applied migrations are those of this release; edited and unknown ones are refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reaper.errors import MigrationRefused
from reaper.migrate.migration_files import Migration


def verify_checksums(applied: dict[str, str], known: Iterable[Migration], where: str) -> None:
    """Refuse applied migrations that this release does not know, or knows with other contents."""
    by_id = {migration.id: migration for migration in known}
    if unknown := [name for name in applied if name not in by_id]:
        raise MigrationRefused(
            f"{where} has migrations that this release does not know: {', '.join(unknown)}",
            "A newer release migrated this database. Install that one; this one would undo its functions.",
        )
    edited = [name for name, sha256 in applied.items() if sha256 and sha256 != by_id[name].sha256]
    if edited:
        raise MigrationRefused(
            f"{where}: migrations edited after they were applied: {', '.join(edited)}",
            "Restore the file as it was applied, and put the change into a new migration.",
        )


def refuse_unreleased_past(applied: Iterable[str], known: Sequence[Migration]) -> None:
    """Refuse a ledger whose numbers are ours and whose names are not: a newer release only adds numbers."""
    ids = {migration.id for migration in known}
    newest = max((migration.number for migration in known), default="")
    past = sorted(name for name in applied if name not in ids and name.split(".")[0] <= newest)
    if past:
        raise MigrationRefused(
            f"this database was migrated by an unreleased version of reaper ({past[0]} is unknown to this"
            " release); there is no path from it",
            "Let that version finish its deletions (reaper drain), stop it, dump the application's tables"
            " (pg_dump -t public.content -t public.pastes), drop schema reaper (drop schema reaper cascade),"
            " then migrate again.",
        )
