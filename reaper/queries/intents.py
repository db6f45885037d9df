"""Puts that their writers did not finish."""

from __future__ import annotations

from reaper.model import (
    PendingIntent,
)
from reaper.queries.base import Area, commits


class Intents(Area):
    """Puts that their writers did not finish."""

    @commits
    def claim_intents(self, limit: int) -> list[PendingIntent]:
        """Lease puts that were begun long ago and not settled, a fair share of each backend that answers."""
        return self._db.all(PendingIntent, "select * from reaper.claim_intents(%s)", limit)

    @commits
    def finish_intent(self, intent: PendingIntent, found: bool, size: int | None, sha256: str | None) -> str:
        """Settle a leased intent by what lies under its key: 'committed', 'dropped' or 'gone'."""
        return str(
            self._db.value(
                "select reaper.finish_intent(%s, %s, %s, %s, %s)",
                intent.intent_id,
                intent.lease,
                found,
                size,
                sha256,
            )
        )

    @commits
    def return_intent(self, intent: PendingIntent, error: str) -> bool:
        """Give a leased intent back, since its backend did not answer; False when its writer settled it."""
        return bool(
            self._db.value("select reaper.return_intent(%s, %s, %s)", intent.intent_id, intent.lease, error)
        )
