"""What is owed: objects and cache entries whose deletion failed are tried again when they are due.

PostgreSQL says what is due and what a failure means; a lease fences whoever comes back too late.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reaper.concurrency import Stop, for_each
from reaper.db.session import Session
from reaper.errors import ClaimLost
from reaper.expiry.side_effects import SideEffects
from reaper.expiry.standby import Standby
from reaper.model import Owed
from reaper.queries import Failures, Queries
from reaper.telemetry.events import Telemetry

AT_ONCE = 1000


@dataclass(frozen=True)
class Pass:
    """What became of the things that were due, and whether time was over before all were tried."""

    gone: int = 0
    failed: int = 0
    more: bool = False


@dataclass(frozen=True)
class Cleanup:
    """One pass through what is owed; several may run at once, and share it."""

    session: Session
    effects: SideEffects
    telemetry: Telemetry
    stop: Stop
    standby: Standby

    def delete_objects(self) -> Pass:
        """Try the objects that are due, on all backends that we know side by side."""
        passes = for_each(self.effects.stores, self._delete_on)
        for backend, done in passes.items():
            self.telemetry.retried(backend, done.gone, done.failed)
        return Pass(
            sum(p.gone for p in passes.values()),
            sum(p.failed for p in passes.values()),
            any(p.more for p in passes.values()),
        )

    def _delete_on(self, backend: str) -> Pass:
        # What fails in this pass is due again later than this, so the pass comes to its end.
        began = self.session.call(lambda q: q.now())
        return self._settle_all(
            claim=lambda q: q.claim_cleanup(AT_ONCE, backend, began),
            act=lambda owed: self.effects.run((), owed.objects, lambda: self._may_delete(owed)),
            finish=lambda q, owed, failures: q.finish_cleanup(owed.lease, failures),
        )

    def drop_entries(self) -> Pass:
        """Try the cache entries that are due."""
        return self._settle_all(
            claim=lambda q: q.claim_invalidations(AT_ONCE),
            act=lambda owed: self.effects.drop(owed.short_codes),
            finish=lambda q, owed, failures: q.finish_invalidations(owed.lease, failures),
        )

    def _settle_all(
        self,
        claim: Callable[[Queries], Owed | None],
        act: Callable[[Owed], Failures],
        finish: Callable[[Queries, Owed, Failures], int],
    ) -> Pass:
        gone = failed = 0
        while not self.stop.is_set():
            owed = self.session.call(claim)
            if owed is None:
                return Pass(gone, failed)
            settled, failures = self._settle(owed, act, finish)
            gone, failed = gone + settled.gone, failed + settled.failed
            if failures and settled.gone == 0 and all(f.get("outage") for f in failures):
                # Nobody answers there now: the rest would only wait for as long again.
                return Pass(gone, failed)
        return Pass(gone, failed, more=True)

    def _settle(
        self,
        owed: Owed,
        act: Callable[[Owed], Failures],
        finish: Callable[[Queries, Owed, Failures], int],
    ) -> tuple[Pass, Failures]:
        try:
            failures = act(owed)
            gone = self.session.call(lambda q: finish(q, owed, failures))
        except ClaimLost:
            # Somebody else has it by now: their business, not ours.
            self.telemetry.lease_lost(owed.lease)
            return Pass(), ()
        return Pass(gone, len(failures)), failures

    def _may_delete(self, owed: Owed) -> bool:
        return self.standby.has(owed.lease, self.session, self.stop)
