"""The second half of a batch: side effects outside PostgreSQL, then finish; also for adopted batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from reaper.concurrency import Stop
from reaper.db.reconnecting_session import Session
from reaper.errors import ClaimLost
from reaper.expiry.batch_return import give_up
from reaper.expiry.held_batches import HeldBatches
from reaper.expiry.side_effects import SideEffects
from reaper.expiry.wait_for_standby import Standby
from reaper.model import Batch, Figures
from reaper.queries import Ask, Queries
from reaper.telemetry import spans
from reaper.telemetry.events import Telemetry


def always(_: Stop) -> bool:
    """Asked before each batch, let it begin."""
    return True


@dataclass(frozen=True)
class Settler:
    """Settles released batches; the lanes and services of a process share it."""

    worker: str
    # A connection of its own: lanes claim and drop on theirs meanwhile.
    session: Session[Queries]
    side_effects: SideEffects
    standby: Standby
    held: HeldBatches
    telemetry: Telemetry

    def open(self) -> None:
        """Connect; a process that is refused this connection must hold no batch yet."""
        self.session.open()

    def adopt(self, ask: Ask, stop: Stop, gate: Callable[[Stop], bool] = always) -> Adopted:
        """Settle the released batches that no worker holds any more, until there are none.

        The gate is asked before each: there may be many, and a pause may begin meanwhile.
        """
        self.open()
        batches, figures = 0, Figures()
        while not stop.is_set() and gate(stop):
            batch = ask(lambda q: q.adopt_batch(self.worker))
            if batch is None:
                return Adopted(batches, figures)
            self.held.add(batch.batch_id)
            figures += self.settle(batch, stop)
            batches += 1
        return Adopted(batches, figures, more=True)

    def settle(self, batch: Batch, stop: Stop) -> Figures:
        """Do what is left to do outside, and finish the batch; no figures when it was taken from us."""
        codes, objects = len(batch.short_codes), len(batch.objects)
        with spans.span("batch", batch_id=str(batch.batch_id), codes=codes, objects=objects):
            return self._settle(batch, stop)

    def _settle(self, batch: Batch, stop: Stop) -> Figures:
        try:
            failures = self.side_effects.run(
                batch.short_codes, batch.objects, lambda: self._may_delete(batch, stop)
            )
            with self.telemetry.step("finish"):
                figures = self.session.call(lambda q: q.finish_batch(batch.batch_id, failures))
        except ClaimLost:
            self.telemetry.claim_lost(batch.batch_id)
            self.held.remove(batch.batch_id)
            return Figures()
        except Exception as error:
            give_up(batch.batch_id, error, self.held, self.session.call, self.telemetry)
            raise
        self.held.remove(batch.batch_id)
        self.telemetry.finished(batch, figures)
        return figures

    def _may_delete(self, batch: Batch, stop: Stop) -> bool:
        return not batch.awaits_standby or self.standby.has(batch.batch_id, self.session.call, stop)


@dataclass(frozen=True)
class Adopted:
    """How many batches of dead workers were settled, what became of them, and whether time was over first."""

    batches: int = 0
    figures: Figures = field(default_factory=Figures)
    more: bool = False

    def __add__(self, other: Adopted) -> Adopted:
        return Adopted(self.batches + other.batches, self.figures + other.figures, self.more or other.more)
