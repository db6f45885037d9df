"""The queue of jobs, and old history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from psycopg.types.json import Jsonb

from reaper.model import (
    RescuedJob,
)
from reaper.queries.base import Area, commits, reads

# How long a worker may be without a heartbeat before its jobs are taken from it.
SILENCE = timedelta(minutes=2)
# Asked on procrastinate's own connections, in place of its own function.
CLAIM_JOB: Final = "select * from reaper.claim_job(%(tasks)s::text[], %(queues)s::text[], %(worker)s)"


@dataclass(frozen=True, slots=True)
class Job:
    """A job in the queue; a wedged one runs on no living worker."""

    job_id: int
    task: str
    lock: str | None
    status: str
    attempts: int
    worker_alive: bool
    since: datetime | None
    last_error: str | None
    wedged: bool


@dataclass(frozen=True, slots=True)
class DrainSlots:
    """Drain jobs, by what they do."""

    running: int
    waiting: int


class Jobs(Area):
    """The queue of jobs, and old history."""

    @commits
    def enqueue_job(
        self, task: str, lock: str, arguments: Mapping[str, Any], pause: timedelta | None = None
    ) -> bool:
        """Queue a job, to be run after a pause; False when one of that name waits already."""
        query = "select reaper.enqueue_job(%s, %s, %s, p_pause => %s)"
        return bool(self._db.value(query, task, lock, Jsonb(dict(arguments)), pause))

    @commits
    def rescue_jobs(self, limit: int, silence: timedelta = SILENCE) -> list[RescuedJob]:
        """Free the jobs of workers that are silent for so long."""
        return self._db.all(RescuedJob, "select * from reaper.rescue_jobs(%s, %s)", silence, limit)

    @commits
    def prune_jobs(self, limit: int) -> int:
        """Forget finished jobs; returns how many."""
        return int(self._db.value("select reaper.prune_jobs(p_limit => %s)", limit))

    @commits
    def prune_history(self, limit: int) -> int:
        """Forget old figures and errors, up to `limit` of each kind; returns how many in all."""
        return int(self._db.value("select reaper.prune_history(p_limit => %s)", limit))

    @commits
    def record_job_error(self, job_id: int, task: str, attempt: int, error: str) -> None:
        """Keep the text of a job's error."""
        self._db.value("select reaper.record_job_error(%s, %s, %s, %s)", job_id, task, attempt, error)

    @reads
    def may_use_queue(self) -> bool:
        """Whether this login may take jobs; if not, PostgreSQL would call the functions missing."""
        return bool(self._db.value("select has_schema_privilege(reaper.queue_schema(), 'USAGE')"))

    @reads
    def queue_schema(self) -> str:
        """The schema of procrastinate's tables, for which the functions were loaded."""
        return str(self._db.value("select reaper.queue_schema()"))

    @reads
    def drain_slots(self) -> DrainSlots:
        """What the drain's jobs do at the moment."""
        return self._db.only(
            DrainSlots,
            "select count(*) filter (where status = 'doing' and worker_alive) as running,"
            " count(*) filter (where status = 'todo') as waiting"
            "  from reaper.jobs where task = 'reaper:drain'",
        )

    @reads
    def jobs(self, limit: int) -> list[Job]:
        """The newest jobs; those that succeed are deleted at once."""
        return self._db.all(
            Job,
            "select * from (select * from reaper.jobs order by job_id desc limit %s) as j order by job_id",
            limit,
        )
