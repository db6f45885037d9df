"""The methods with their numbers of processes, as a plan chooses them and results name them."""

from __future__ import annotations

from reaper.dev.bench.methods.delete_limit_loop import DeleteLimitLoop
from reaper.dev.bench.methods.drain_procedure import DrainProcedure
from reaper.dev.bench.methods.giant_transaction import GiantTransaction
from reaper.dev.bench.methods.hand_written_worker import HandWrittenWorker
from reaper.dev.bench.methods.job_per_paste import JobPerPaste
from reaper.dev.bench.methods.reaper_drain import ReaperDrain
from reaper.dev.bench.methods.row_by_row import RowByRow
from reaper.dev.bench.runner import Variant

FLOOR = Variant(GiantTransaction())
CALL = Variant(DrainProcedure())
DATABASE = {workers: Variant(ReaperDrain(), workers) for workers in (1, 2, 4)}
EVERYTHING = {workers: Variant(ReaperDrain(outside=True), workers) for workers in (1, 2, 4)}
REQUEUE = Variant(DeleteLimitLoop())


def by_hand(sample: int) -> list[Variant]:
    """What users write themselves; the slow ones stop after a sample."""
    return [
        Variant(RowByRow(sample // 10)),
        REQUEUE,
        seeds(1, sample),
        seeds(2, sample),
        Variant(JobPerPaste(max(100, sample // 50))),
    ]


def seeds(workers: int, sample: int, outside: bool = False) -> Variant:
    """The seeds; each worker does its share of the sample."""
    return Variant(HandWrittenWorker(outside, sample // workers), workers)
