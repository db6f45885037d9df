"""A drain: claim → drop → side effects → finish, batch after batch, in several lanes side by side.

PostgreSQL decides everything about rows; here only its decisions are carried out. A lane can be killed at any
moment: what it held is written in its batch, and the watchdog and the next drain go on from there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID

from reaper.concurrency import Stop
from reaper.db.session import TRANSIENT, Session
from reaper.errors import ClaimLost, DatabaseError
from reaper.expiry.rate import Pace
from reaper.expiry.retries import Cleanup
from reaper.expiry.side_effects import SideEffects
from reaper.expiry.standby import Standby
from reaper.model import START, Batch, Claim, Cursor
from reaper.ports import ClaimLock
from reaper.telemetry.events import Telemetry

# Another drain lets go of what it holds in a moment, somebody else perhaps in hours: how often to look.
PAUSES = (0.05, 0.2, 1.0)


def always(_: Stop) -> bool:
    """Asked before each batch, let the lane go on."""
    return True


class Allowance:
    """How many batches may still be claimed, over all lanes; without a limit, any number."""

    def __init__(self, batches: int | None) -> None:
        self._left = batches
        self._guard = threading.Lock()

    def take(self) -> bool:
        """Whether one more may be claimed; it counts as claimed then."""
        with self._guard:
            if self._left is None:
                return True
            self._left -= 1
            return self._left >= 0

    def put_back(self) -> None:
        """The claim found nothing."""
        with self._guard:
            if self._left is not None:
                self._left += 1


@dataclass
class Holdings:
    """The batches that this process knows to hold."""

    batches: set[UUID] = field(default_factory=set)
    guard: threading.Lock = field(default_factory=threading.Lock)

    def add(self, batch_id: UUID) -> None:
        """We hold it now."""
        with self.guard:
            self.batches.add(batch_id)

    def remove(self, batch_id: UUID) -> None:
        """We are done with it, or it was taken from us."""
        with self.guard:
            self.batches.discard(batch_id)

    def known(self) -> list[UUID]:
        """All of them."""
        with self.guard:
            return list(self.batches)


@dataclass(frozen=True)
class Lane:
    """One worker thread's way through the backlog."""

    worker: str
    session: Session
    # Settles batches while the session claims and drops others; the lanes of a process share it.
    settling: Session
    effects: SideEffects
    lock: ClaimLock
    telemetry: Telemetry
    holdings: Holdings
    stop: Stop
    standby: Standby
    batch_size: int = 1000
    allowance: Allowance = field(default_factory=lambda: Allowance(None))
    pace: Pace = field(default_factory=Pace)
    # May wait, since no transaction is open then; False ends the drain.
    gate: Callable[[Stop], bool] = always

    def run(self) -> bool:
        """Finish what others left, then drain; whether nothing was left in the end but what others hold."""
        trouble = self._tried(self.adopt) or self._tried(self.retry_owed)
        drained = self.drain()
        if trouble:
            raise trouble
        return drained

    def _tried(self, finish: Callable[[], object]) -> DatabaseError | None:
        """What others left is worth a try; where PostgreSQL refuses it, that keeps nobody from draining."""
        try:
            finish()
        except DatabaseError as error:
            self.telemetry.left_undone(error)
            return error
        return None

    def adopt(self) -> int:
        """Do the side effects of released batches that nobody holds; returns how many there were."""
        # Refused a connection, we hold nothing yet.
        self.settling.open()
        adopted = 0
        while not self.stop.is_set():
            batch = self.session.call(lambda q: q.adopt_batch(self.worker))
            if batch is None:
                break
            self.holdings.add(batch.batch_id)
            self._settle(batch)
            adopted += 1
        return adopted

    def retry_owed(self) -> None:
        """Try again what failed in earlier drains and is due."""
        self.cleanup.delete_objects()
        self.cleanup.drop_entries()

    @property
    def cleanup(self) -> Cleanup:
        """How what is owed is tried again."""
        return Cleanup(self.session, self.effects, self.telemetry, self.stop, self.standby)

    def drain(self) -> bool:
        """Reap batch after batch; the side effects and the end of one overlap with the claim of the next."""
        self.settling.open()
        cursor, released, drained = START, False, False
        self.pace.begin()
        pauses = iter(PAUSES)
        settling: Future[None] | None = None
        with ThreadPoolExecutor(1, "settle") as settler:
            while not drained and (rows := self._may_claim()):
                claim = self._claim(rows, cursor)
                if claim is None:
                    self.allowance.put_back()
                    pauses = iter(PAUSES) if released else pauses
                    drained = not released and not self._looks_again(pauses)
                    cursor, released = START, False
                    continue
                cursor = claim.cursor
                batch = self._drop(claim)
                previous, settling = settling, settler.submit(self._settle, batch) if batch else None
                if previous is not None:
                    previous.result()
                released = released or bool(batch and batch.short_codes)
            if settling is not None:
                settling.result()
        return drained

    def _may_claim(self) -> int:
        """How many rows, once it is our turn; none when there is no turn any more."""
        if not self.gate(self.stop):
            return 0
        rows = self.pace.turn(self.batch_size, self.stop)
        return rows if not self.stop.is_set() and self.allowance.take() else 0

    def _claim(self, rows: int, cursor: Cursor) -> Claim | None:
        with self.lock.hold(), self.telemetry.step("claim"):
            claim = self.session.call(lambda q: q.claim_expired(rows, self.worker, cursor))
        if claim is not None:
            self.holdings.add(claim.batch_id)
        return claim

    def _looks_again(self, pauses: Iterator[float]) -> bool:
        """After a pass that released nothing: whether rows are left that others may let go of soon.

        Rows whose content somebody holds were waited for already, and are none of these.
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
            return None
        except DatabaseError as error:
            if error.sqlstate not in TRANSIENT:
                raise
            self._give_back(claim.batch_id, error)
            return None

    def _give_back(self, batch_id: UUID, error: DatabaseError) -> None:
        self.telemetry.given_back(batch_id, error)
        with self._unless_lost(batch_id):
            self.session.call(lambda q: q.return_batch(batch_id))
        self.holdings.remove(batch_id)

    def _settle(self, batch: Batch) -> None:
        try:
            failures = self.effects.run(batch.short_codes, batch.objects, lambda: self._may_delete(batch))
            with self.telemetry.step("finish"):
                figures = self.settling.call(lambda q: q.finish_batch(batch.batch_id, failures))
        except ClaimLost:
            self._lost(batch.batch_id)
            return
        finally:
            # Where it failed, too: what nobody here knows is let go by the next connection, and adopted.
            self.holdings.remove(batch.batch_id)
        self.telemetry.finished(batch, figures)

    def _may_delete(self, batch: Batch) -> bool:
        return not batch.awaits_standby or self.standby.has(batch.batch_id, self.settling, self.stop)

    @contextmanager
    def _unless_lost(self, token: UUID) -> Iterator[None]:
        """Somebody else has it by now: their business, not ours."""
        try:
            yield
        except ClaimLost:
            self._lost(token)

    def _lost(self, batch_id: UUID) -> None:
        self.holdings.remove(batch_id)
        self.telemetry.claim_lost(batch_id)


def run_lanes(lanes: Sequence[Lane], stop: threading.Event) -> None:
    """Run the lanes in threads until all have ended; the first error stops the others and is raised."""
    with ThreadPoolExecutor(len(lanes), "lane") as pool:
        running = [pool.submit(lane.run) for lane in lanes]
        for future in running:
            future.add_done_callback(lambda done: stop.set() if done.exception() else None)
    for future in running:
        future.result()
