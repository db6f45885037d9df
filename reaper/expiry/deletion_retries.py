"""Deletions that failed before: objects and cache entries are tried again when they are due.

PostgreSQL says what is due and what a failure means; a lease fences a worker that comes back too late.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reaper.concurrency import Stop, for_each
from reaper.errors import ClaimLost
from reaper.expiry.side_effects import SideEffects
from reaper.expiry.wait_for_standby import Standby
from reaper.model import RetryLease
from reaper.queries import Ask
from reaper.queries.failure_arguments import Failures
from reaper.telemetry.events import Telemetry

AT_ONCE = 1000


@dataclass(frozen=True)
class Retried:
    """What became of the things that were due, and whether time was over before all were tried."""

    gone: int = 0
    failed: int = 0
    more: bool = False

    def __add__(self, other: Retried) -> Retried:
        return Retried(self.gone + other.gone, self.failed + other.failed, self.more or other.more)


def always() -> bool:
    """Asked before each claim, let the pass go on."""
    return True


@dataclass(frozen=True)
class Retries:
    """One pass through the deletions that are due; several passes may run at once and share the work.

    Where `goes_on` says no, a pass ends, and what is left is due when the pause is over.
    """

    side_effects: SideEffects
    standby: Standby
    telemetry: Telemetry

    def delete_objects(self, ask: Ask, stop: Stop, goes_on: Callable[[], bool] = always) -> Retried:
        """Try the objects that are due, on all backends that we know side by side."""
        passes = for_each(
            self.side_effects.stores, lambda backend: self._delete_on(backend, ask, stop, goes_on)
        )
        return sum(passes.values(), start=Retried())

    def _delete_on(self, backend: str, ask: Ask, stop: Stop, goes_on: Callable[[], bool]) -> Retried:
        # What fails in this pass is due again later than this, so the pass comes to its end.
        began = ask(lambda q: q.now())
        return self._settle_all(
            stop,
            goes_on,
            claim=lambda: ask(lambda q: q.claim_cleanup(AT_ONCE, backend, began)),
            act=lambda lease: self.side_effects.run(
                (), lease.objects, lambda: self.standby.has(lease.token, ask, stop)
            ),
            finish=lambda lease, failures: ask(lambda q: q.finish_cleanup(lease.token, failures)),
        )

    def drop_entries(self, ask: Ask, stop: Stop, goes_on: Callable[[], bool] = always) -> Retried:
        """Try the cache entries that are due."""
        return self._settle_all(
            stop,
            goes_on,
            claim=lambda: ask(lambda q: q.claim_invalidations(AT_ONCE)),
            act=lambda lease: self.side_effects.drop(lease.short_codes),
            finish=lambda lease, failures: ask(lambda q: q.finish_invalidations(lease.token, failures)),
        )

    def _settle_all(
        self,
        stop: Stop,
        goes_on: Callable[[], bool],
        *,
        claim: Callable[[], RetryLease | None],
        act: Callable[[RetryLease], Failures],
        finish: Callable[[RetryLease, Failures], int],
    ) -> Retried:
        done = Retried()
        while not stop.is_set():
            lease = claim() if goes_on() else None
            if lease is None:
                return done
            try:
                failures = act(lease)
                gone = finish(lease, failures)
            except ClaimLost:
                # Another worker has it by now, and does it again.
                self.telemetry.lease_lost(lease.token)
                continue
            done += Retried(gone, len(failures))
            if failures and gone == 0 and all(f.get("outage") for f in failures):
                # The backend does not answer now: the rest would only wait for as long again.
                return done
        return done + Retried(more=True)
