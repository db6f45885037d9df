"""A drain: claim → drop → side effects → finish, batch after batch, in several lanes side by side.

PostgreSQL decides everything about rows; here only its decisions are carried out. A lane can be killed at any
moment: what it held is written in its batch, and the watchdog and the next drain continue from there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from uuid import UUID

from reaper.concurrency import Stop
from reaper.db.reconnecting_session import Session
from reaper.db.retry import is_transient
from reaper.errors import ClaimLost, DatabaseError
from reaper.expiry.deletion_retries import Retried, Retries
from reaper.expiry.held_batches import BatchLimit
from reaper.expiry.rate import Rate
from reaper.expiry.settler import Adopted, Settler
from reaper.model import START, Batch, Claim, Cursor, Figures
from reaper.ports import ClaimLock
from reaper.queries import Queries
from reaper.telemetry.events import Telemetry

# Another drain lets go of what it holds in a moment, other sessions perhaps in hours: how often to look.
PAUSES = (0.05, 0.2, 1.0)


def always(_: Stop) -> bool:
    """Asked before each batch, let the lane claim."""
    return True


@dataclass(frozen=True)
class Drained:
    """What a lane did; `done` when nothing was left in the end but what other sessions hold."""

    done: bool
    figures: Figures = field(default_factory=Figures)
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
    batch_size: int = 1000
    limit: BatchLimit = field(default_factory=lambda: BatchLimit(None))
    rate: Rate = field(default_factory=Rate)
    # May wait, since no transaction is open then; False ends the drain.
    gate: Callable[[Stop], bool] = always

    def run(self) -> Drained:
        """Finish what other workers left, then drain.

        Where PostgreSQL refuses the former, the drain goes through its backlog first and then raises.
        """
        adopted, retried, trouble = Adopted(), Retried(), None
        try:
            adopted = self.settler.adopt(self.session.call, self.stop)
            retried = self._retry()
        except DatabaseError as error:
            self.telemetry.earlier_work_failed(error)
            trouble = error
        drained = self.drain()
        if trouble:
            raise trouble
        return replace(drained, figures=adopted.figures + drained.figures, retried=retried)

    def _retry(self) -> Retried:
        objects = self.retries.delete_objects(self.session.call, self.stop)
        return objects + self.retries.drop_entries(self.session.call, self.stop)

    def drain(self) -> Drained:
        """Reap batch after batch; the side effects and the end of one overlap with the claim of the next."""
        self.settler.open()
        cursor, released, done, figures = START, False, False, Figures()
        self.rate.begin()
        pauses = iter(PAUSES)
        settling: Future[Figures] | None = None
        with ThreadPoolExecutor(1, "settle") as settler:
            while not done and (rows := self._may_claim()):
                claim = self._claim(rows, cursor)
                if claim is None:
                    self.limit.put_back()
                    pauses = iter(PAUSES) if released else pauses
                    done = not released and not self._looks_again(pauses)
                    cursor, released = START, False
                    continue
                cursor = claim.cursor
                batch = self._drop(claim)
                previous = settling
                settling = settler.submit(self.settler.settle, batch, self.stop) if batch else None
                figures += previous.result() if previous else Figures()
                released = released or bool(batch and batch.short_codes)
            figures += settling.result() if settling else Figures()
        return Drained(done, figures)

    def _may_claim(self) -> int:
        """How many rows, once it is our turn; none when there is no turn any more."""
        if not self.gate(self.stop):
            return 0
        rows = self.rate.turn(self.batch_size, self.stop)
        return rows if not self.stop.is_set() and self.limit.take() else 0

    def _claim(self, rows: int, cursor: Cursor) -> Claim | None:
        with self.lock.hold(), self.telemetry.step("claim"):
            claim = self.session.call(lambda q: q.claim_expired(rows, self.worker, cursor))
        if claim is not None:
            self.settler.held.add(claim.batch_id)
        return claim

    def _looks_again(self, pauses: Iterator[float]) -> bool:
        """After a pass that released nothing: whether rows are left that others may let go of soon.

        Rows whose content another session holds were waited for already, and are none of these.
        """
        given_back = self.session.call(lambda q: q.return_ownerless_rows())
        if not given_back and not self.session.call(lambda q: q.count_ownerless_rows()):
            return False
        pause = next(pauses, None)
        time.sleep(pause or 0.0)
        return pause is not None

    def _drop(self, claim: Claim) -> Batch | None:
        try:
            with self.telemetry.step("drop"):
                return self.session.call(lambda q: q.drop_references(claim.batch_id))
        except ClaimLost:
            self._lost(claim.batch_id)
        except DatabaseError as error:
            if not is_transient(error):
                raise
            self._give_back(claim.batch_id, error)
        return None

    def _give_back(self, batch_id: UUID, error: DatabaseError) -> None:
        self.telemetry.batch_returned(batch_id, error)
        try:
            self.session.call(lambda q: q.return_batch(batch_id))
        except ClaimLost:
            self._lost(batch_id)
        self.settler.held.remove(batch_id)

    def _lost(self, batch_id: UUID) -> None:
        """Another worker has it by now: its rows are that worker's business."""
        self.settler.held.remove(batch_id)
        self.telemetry.claim_lost(batch_id)


def run_lanes(lanes: Sequence[Lane], stop: threading.Event) -> None:
    """Run the lanes in threads until all have ended; the first error stops the others and is raised."""
    with ThreadPoolExecutor(len(lanes), "lane") as pool:
        running = [pool.submit(lane.run) for lane in lanes]
        for future in running:
            future.add_done_callback(lambda done: stop.set() if done.exception() else None)
    for future in running:
        future.result()
