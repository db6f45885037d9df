"""Who this installation is, and whose buckets its backends are."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from reaper.queries.base import Area, commits, reads


@dataclass(frozen=True, slots=True)
class Installation:
    """The identity of the database as it is now, and as it was recorded; no id where none was recorded."""

    installation_id: UUID | None
    database: str
    system_identifier: int
    is_recorded_here: bool
    recorded_database: str | None
    recorded_system_identifier: int | None
    recorded_at: datetime | None


class Ownership(Area):
    """Who this installation is, and whose buckets its backends are."""

    @reads
    def installation_identity(self) -> Installation:
        """Who this database is."""
        return self._db.only(Installation, "select * from reaper.installation_identity()")

    @reads
    def ownership_problems(self) -> list[str]:
        """A sentence for each backend whose bucket is not ours."""
        return [problem for (problem,) in self._db.tuples("select * from reaper.ownership_problems()")]

    @commits
    def record_backend_owner(
        self, backend: str, installation_id: UUID | None, state: str, detail: str
    ) -> None:
        """Say whose bucket a backend's marker names, as this installation found it."""
        self._db.value(
            "select reaper.record_backend_owner(%s, %s, %s, %s)", backend, installation_id, state, detail
        )

    @commits
    def record_take_over(self, backend: str, former_owner: str, reason: str) -> None:
        """Record that this database is to own a bucket; its marker is written after that."""
        self._db.value("select reaper.record_take_over(%s, %s, %s)", backend, former_owner, reason)

    @commits
    def renew_installation(self, reason: str) -> UUID:
        """Give this database a new identity, so that no marker names it any more."""
        renewed: UUID = self._db.value("select reaper.renew_installation(%s)", reason)
        return renewed
