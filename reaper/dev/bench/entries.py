"""Who takes part in which part of a run, and under which name the results are found."""

from __future__ import annotations

from reaper.dev.bench.contestants.floor import Floor
from reaper.dev.bench.contestants.jobs import JobPerPaste
from reaper.dev.bench.contestants.lanes import Lanes
from reaper.dev.bench.contestants.procedure import DrainProcedure
from reaper.dev.bench.contestants.requeue import RequeueLoop
from reaper.dev.bench.contestants.row_by_row import RowByRow
from reaper.dev.bench.contestants.seeds import Seeds
from reaper.dev.bench.tournament import Entry

FLOOR = Entry(Floor())
CALL = Entry(DrainProcedure())
DATABASE = {workers: Entry(Lanes(), workers) for workers in (1, 2, 4)}
EVERYTHING = {workers: Entry(Lanes(outside=True), workers) for workers in (1, 2, 4)}
REQUEUE = Entry(RequeueLoop())


def by_hand(sample: int) -> list[Entry]:
    """What users write themselves; the slow ones stop after a sample."""
    return [
        Entry(RowByRow(sample // 10)),
        REQUEUE,
        seeds(1, sample),
        seeds(2, sample),
        Entry(JobPerPaste(max(100, sample // 50))),
    ]


def seeds(workers: int, sample: int, outside: bool = False) -> Entry:
    """The seeds; each worker does its share of the sample."""
    return Entry(Seeds(outside, sample // workers), workers)
