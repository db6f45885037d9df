"""A drain: claim → drop → side effects → finish, batch after batch, in several lanes side by side.

With direct release, claim and drop are one step, a reap (reaper.settings.claim_mode).

PostgreSQL decides everything about rows; here only its decisions are carried out. A lane can be killed at any
moment: what it held is written in its batch, and the watchdog and the next drain continue from there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from uuid import UUID

from reaper.concurrency import Stop, carried
from reaper.db.reconnecting_session import Session
from reaper.db.retry import is_transient
from reaper.errors import ClaimLost, DatabaseError
from reaper.expiry.batch_growth import BatchGrowth
from reaper.expiry.batch_return import give_up
from reaper.expiry.bucket_guard import AnyBucket, BucketGuard
from reaper.expiry.deletion_retries import Retried, Retries
from reaper.expiry.held_batches import BatchLimit
from reaper.expiry.rate import Rate
from reaper.expiry.settler import Adopted, Settler, always
from reaper.model import START, Batch, Claim, Cursor, Figures, Taken
from reaper.ports import ClaimLock
from reaper.queries import Ask, Queries
from reaper.telemetry.events import Telemetry

# Another drain lets go of what it holds in a moment, other sessions perhaps in hours: how often to look.
PAUSES = (0.05, 0.2, 1.0)


def unlooked(_: Ask) -> bool:
    """Nothing is looked for: the keys are right."""
    return True


def any_service(_: str) -> bool:
    """No service is paused or off."""
    return True


@dataclass(frozen=True)
class Drained:
    """What a lane did; `done` when nothing was left in the end but what other sessions hold."""

    done: bool
    figures: Figures = field(default_factory=Figures)
    # Batches that other workers had released.
    adopted: Adopted = field(default_factory=Adopted)
    # Deletions that had failed before.
    retried: Retried = field(default_factory=Retried)


@dataclass(frozen=True)
class Lane:
    """One worker thread's way through the backlog."""

    worker: str
    session: Session[Queries]
    settler: Settler
    retries: Retries
    lock: ClaimLock
    telemetry: Telemetry
    stop: Stop
    limit: BatchLimit = field(default_factory=lambda: BatchLimit(None))
    rate: Rate = field(default_factory=Rate)
    # May wait, since no transaction is open then; False ends the drain.
    gate: Callable[[Stop], bool] = always
    # Whether the service of that name may run: its deletions are not retried here while it is paused.
    may_retry: Callable[[str], bool] = any_service
    buckets: BucketGuard = field(default_factory=AnyBucket)
    # Finds out whether the object keys are right; where they are not, the claim is refused.
    look_for_objects: Callable[[Ask], bool] = unlooked

    def run(self) -> Drained:
        """Finish what other workers left, then drain.

        Where PostgreSQL refuses the former, the drain goes through its backlog first and then raises.
        Where the bucket is another installation's nothing is claimed: its objects would only be queued.
        """
        # First: a bucket without the objects may be the wrong one, and comparing writes a marker into it.
        if self.look_for_objects(self.session.call):
            self.buckets.compare()
        adopted, retried, trouble = Adopted(), Retried(), None
        try:
            adopted = self.settler.adopt(self.session.call, self.stop, self.gate)
            retried = self._retry()
        except DatabaseError as error:
            self.telemetry.earlier_work_failed(error)
            trouble = error
        drained = self.drain()
        if trouble:
            raise trouble
        return replace(drained, adopted=adopted, retried=retried)

    def _retry(self) -> Retried:
        def goes_on(service: str) -> bool:
            return self.may_retry(service) and self.gate(self.stop)

        ask, stop = self.session.call, self.stop
        objects = self.retries.delete_objects(ask, stop, lambda: goes_on("cleanup_queue"))
        return objects + self.retries.drop_entries(ask, stop, lambda: goes_on("invalidations"))

    def drain(self) -> Drained:
        """Reap batch after batch; the side effects and the end of one overlap with the claim of the next."""
        self.settler.open()
        if not self.gate(self.stop):
            return Drained(False)
        take = self._reap if self.session.call(lambda q: q.reaps_directly()) else self._claim_and_drop
        cursor, released, done, figures = START, False, False, Figures()
        self.rate.begin()
        growth = BatchGrowth()
        pauses = iter(PAUSES)
        settling: Future[Figures] | None = None
        with ThreadPoolExecutor(1, "settle") as settler:
            while not done and (rows := self._may_claim(growth.times)):
                with growth.measured():
                    taken = take(rows, cursor)
                if taken is None:
                    self.limit.put_back()
                    pauses = iter(PAUSES) if released else pauses
                    done = not released and not self._looks_again(pauses)
                    cursor, released = START, False
                    continue
                cursor, batch = taken.cursor, taken.batch
                previous = settling
                settling = settler.submit(carried(self.settler.settle), batch, self.stop) if batch else None
                figures += previous.result() if previous else Figures()
                released = released or bool(batch and batch.short_codes)
            figures += settling.result() if settling else Figures()
        return Drained(done, figures)

    def _may_claim(self, times: float) -> int:
        """How many rows, once it is our turn; none when there is no turn any more.

        The gate comes last: a pause that began while we waited holds for this batch already.
        """
        self.buckets.recall()
        rows = 0
        while not rows and not self.stop.is_set():
            rows = self.rate.turn(self.stop, times)
            if not self.gate(self.stop):
                return 0
        return rows if not self.stop.is_set() and self.limit.take() else 0

    def _claim_and_drop(self, rows: int, cursor: Cursor) -> Taken | None:
        claim = self._claim(rows, cursor)
        return None if claim is None else Taken(claim.cursor, self._drop(claim))

    def _reap(self, rows: int, cursor: Cursor) -> Taken | None:
        """Without the claim lock: it would be held for the whole release, and only one lane would work."""
        try:
            with self.telemetry.step("reap"):
                taken = self.session.call(lambda q: q.reap_batch(rows, self.worker, cursor))
        except DatabaseError as error:
            if not is_transient(error):
                raise
            # Other sessions hold what is left; a drain that released something looks once more.
            self.telemetry.rows_held(error)
            return None
        if taken is not None and taken.batch is not None:
            self.settler.held.add(taken.batch.batch_id)
        return taken

    def _claim(self, rows: int, cursor: Cursor) -> Claim | None:
        with ExitStack() as held, self.telemetry.step("claim"):
            with self.telemetry.waiting("claim lock, held by another drain"):
                held.enter_context(self.lock.hold())
            claim = self.session.call(lambda q: q.claim_expired(rows, self.worker, cursor))
        if claim is not None:
            self.settler.held.add(claim.batch_id)
        return claim

    def _looks_again(self, pauses: Iterator[float]) -> bool:
        """After a pass that released nothing: whether rows are left that others may let go of soon.

        The next claim from the start takes them. Rows whose content another session holds were waited for
        already, and are none of these.
        """
        if not self.session.call(lambda q: q.count_ownerless_rows()):
            return False
        pause = next(pauses, None)
        with self.telemetry.waiting("rows locked by other sessions"):
            time.sleep(pause or 0.0)
        return pause is not None

    def _drop(self, claim: Claim) -> Batch | None:
        try:
            with self.telemetry.step("drop"):
                return self.session.call(lambda q: q.drop_batch(claim.batch_id))
        except ClaimLost:
            self._lost(claim.batch_id)
        except Exception as error:
            give_up(claim.batch_id, error, self.settler.held, self.session.call, self.telemetry)
            # What may pass by itself ends no drain: other rows may be free.
            if not (isinstance(error, DatabaseError) and is_transient(error)):
                raise
        return None

    def _lost(self, batch_id: UUID) -> None:
        """Another worker has it by now: its rows are that worker's business."""
        self.settler.held.remove(batch_id)
        self.telemetry.claim_lost(batch_id)


def run_lanes(lanes: Sequence[Lane], stop: threading.Event) -> list[Drained]:
    """Run the lanes in threads until all have ended; the first error stops the others and is raised."""
    with ThreadPoolExecutor(len(lanes), "lane") as pool:
        running = [pool.submit(carried(lane.run)) for lane in lanes]
        for future in running:
            future.add_done_callback(lambda done: stop.set() if done.exception() else None)
    return [future.result() for future in running]
