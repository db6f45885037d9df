"""The methods with their numbers of processes, as a plan chooses them and results name them."""

from __future__ import annotations

from reaper.dev.bench.methods.delete_limit_loop import DeleteLimitLoop
from reaper.dev.bench.methods.drain_procedure import DrainProcedure
from reaper.dev.bench.methods.drop_partition import DropPartition
from reaper.dev.bench.methods.giant_transaction import GiantTransaction
from reaper.dev.bench.methods.hand_written_worker import HandWrittenWorker
from reaper.dev.bench.methods.job_per_paste import JobPerPaste
from reaper.dev.bench.methods.plain_sql_client import PlainSqlClient
from reaper.dev.bench.methods.reaper_drain import ReaperDrain
from reaper.dev.bench.methods.review_queue import ReviewQueue
from reaper.dev.bench.methods.row_by_row import RowByRow
from reaper.dev.bench.runner import Variant

FLOOR = Variant(GiantTransaction())
CALL = Variant(DrainProcedure())
CALL_LARGE = Variant(DrainProcedure(batch_size=5000))
MARK = {workers: Variant(ReaperDrain(), workers) for workers in (1, 2)}
DIRECT = {workers: Variant(ReaperDrain(direct=True), workers) for workers in (1, 2)}
CLIENTS = {workers: Variant(PlainSqlClient(), workers) for workers in (1, 2)}
DIRECT_CLIENTS = {workers: Variant(PlainSqlClient(direct=True), workers) for workers in (1, 2)}
EVERYTHING = Variant(ReaperDrain(outside=True), 2)
EVERYTHING_DIRECT = Variant(ReaperDrain(outside=True, direct=True), 2)
REQUEUE = Variant(DeleteLimitLoop())
PARTITION = Variant(DropPartition())


def seeds(sample: int, outside: bool = False) -> Variant:
    """The seeds with two workers; each does its share of the sample."""
    return Variant(HandWrittenWorker(outside, sample // 2), 2)


def row_by_row(sample: int) -> Variant:
    """A tenth of the sample: each row waits for a commit."""
    return Variant(RowByRow(sample // 10))


def review_queue(sample: int) -> Variant:
    """A tenth of the sample, for the same reason."""
    return Variant(ReviewQueue(sample // 10))


def job_per_paste(sample: int) -> Variant:
    """The slowest of all."""
    return Variant(JobPerPaste(max(100, sample // 50)))
