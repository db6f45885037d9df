"""Whether a standby has what was released."""

from __future__ import annotations

from uuid import UUID

from reaper.queries.base import Area, commits


class Standby(Area):
    """Whether a standby has what was released."""

    @commits
    def await_standby(self, token: UUID, lsn: str | None) -> str | None:
        """None when what the token released may be deleted; else how far a standby has to get first."""
        lacking: str | None = self._db.value("select reaper.await_standby(%s, %s)::text", token, lsn)
        return lacking
