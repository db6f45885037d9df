"""A task whose jobs have a queueing lock made of their arguments, whoever defers them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from procrastinate.jobs import Job, JobDeferrer
from procrastinate.tasks import Task

Lock = Callable[..., str]


class WorkTask(Task[..., None, ...]):
    """With it `procrastinate defer`, too, queues a service once; the library has one lock per task."""

    def __init__(self, run: Callable[..., None], lock: Lock, **options: Any) -> None:
        super().__init__(run, **options)
        self._lock = lock

    def configure(self, **options: Any) -> JobDeferrer:
        """What queues a job."""
        return _LockingDeferrer(super().configure(**options), self._lock)


class _LockingDeferrer(JobDeferrer):
    def __init__(self, deferrer: JobDeferrer, lock: Lock) -> None:
        super().__init__(deferrer.job_manager, deferrer.job, deferrer.connection)
        self._given = deferrer.job.queueing_lock
        self._lock = lock
        # The periodic deferrer takes it as it is.
        self.job = self.make_new_job()

    def make_new_job(self, **task_kwargs: Any) -> Job:
        """The job, with the lock that was given or the one of its arguments."""
        job = super().make_new_job(**task_kwargs)
        return job.evolve(queueing_lock=self._given or self._lock(**job.task_kwargs))
