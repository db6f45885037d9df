"""Which jobs a worker of ours takes: those of our tasks, whoever else uses the queue."""

from __future__ import annotations

from collections.abc import Iterable

from procrastinate.jobs import Job
from procrastinate.manager import JobManager

from reaper.queries.jobs import CLAIM_JOB
from reaper.worker.queue_connector import QueueConnector


class OwnJobs(JobManager):
    """Fetches jobs of known tasks only: procrastinate's way takes all of a queue, and fails unknown ones."""

    def __init__(self, connector: QueueConnector, tasks: Iterable[str]) -> None:
        super().__init__(connector)
        self._tasks = sorted(tasks)

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        """Take the next job, if there is one."""
        names = None if queues is None else list(queues)
        rows = await self.connector.execute_query_all_async(
            query=CLAIM_JOB, tasks=self._tasks, queues=names, worker=worker_id
        )
        return Job.from_row(rows[0]) if rows else None
