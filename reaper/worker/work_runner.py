"""The run path of all background work: lock, record, run, report, come back.

Jobs only wake it: each may be lost, doubled or late, because what is due is in PostgreSQL, and every run asks
there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from reaper.concurrency import Stop, StopAfter
from reaper.db.connection import Connection
from reaper.db.reconnecting_session import Session
from reaper.errors import BadArgument, ClaimLost, ReaperError, ServiceLockLost, describe
from reaper.expiry.lane import Drained
from reaper.expiry.throttle import NOTHING, Despite, Throttle
from reaper.queries import Ask, Queries
from reaper.services import drain
from reaper.services.base import Context, Service, Tick
from reaper.telemetry.events import Telemetry
from reaper.worker import service_lease, work_kinds
from reaper.worker.lane_pool import LanePool
from reaper.worker.service_lease import ServiceLease
from reaper.worker.work_kinds import POLICY, Job, Work

BUDGET = 15.0
# How often a run that waits for a service's lock tries again.
LOCK_PAUSE = 0.5
# A drain job that finds no free lane looks again after this.
LANE_PAUSE = timedelta(seconds=5)

OpenSession = Callable[[str], AbstractContextManager[Session[Queries]]]
MakeContext = Callable[[Ask, Stop, float, Callable[[], Drained]], Context]


@dataclass(frozen=True)
class Outcome:
    """How a run ended; without a tick another worker held the service's lock, and it was skipped."""

    tick: Tick | None


@dataclass(frozen=True)
class Runner:
    """Runs the work of one process; its jobs call it from many threads."""

    worker: str
    ask: Ask
    bind: Callable[[Connection], Queries]
    connect: Callable[[str], Connection]
    open_session: OpenSession
    make_context: MakeContext
    lanes: LanePool
    throttle: Throttle
    telemetry: Telemetry
    stop: Stop
    services: Mapping[str, Service] = field(default_factory=dict)
    budget: float = BUDGET
    # What an operator runs it in spite of.
    despite: Despite = NOTHING
    lease_extended_every: float = service_lease.EVERY

    def run_service(self, name: str) -> None:
        """Run a service once, alone where it must be; a run that finds it locked is skipped."""
        self.run_and_come_back(work_kinds.service_run(self._service(name)))

    def drain_slot(self, slot: int) -> None:
        """Drain until nothing is due or the time budget is over; then come back."""
        self.run_and_come_back(work_kinds.drain_slot(self._service(drain.SERVICE.name), slot))

    def purge(self, policy: str) -> None:
        """Delete one batch of rows that a policy says are too old; come back if the batch was full."""
        self.run_and_come_back(work_kinds.purge(policy))

    def find(self, name: str) -> Work:
        """What runs under that name of the schedule."""
        if name.startswith(POLICY):
            return work_kinds.purge(name.removeprefix(POLICY))
        return work_kinds.service_run(self._service(name))

    def run_and_come_back(self, what: Work) -> None:
        """Run, and queue the next run at once where there is more to do; without a free lane, soon.

        What was paused or switched off since the job was queued is not run; after its pause it is due.
        """
        if not what.needs_lane:
            self._run_and_come_back(what)
            return
        with self.lanes.reserved() as free:
            if free:
                self._run_and_come_back(what)
        if not free and self.ask(lambda q: q.is_runnable(what.name)):
            self._come_back(what.job, LANE_PAUSE)

    def _run_and_come_back(self, what: Work) -> None:
        try:
            outcome = self.run(what) if self.ask(lambda q: q.is_runnable(what.name)) else None
        except ReaperError:
            self._come_back_after_failure(what)
            raise
        if outcome is None or (outcome.tick and outcome.tick.more):
            job = what.job
            self.ask(lambda q: q.enqueue_next_run(what.name, job.task, job.lock, job.arguments))

    def run(self, what: Work, wait: bool = False) -> Outcome:
        """One run; with `wait`, a lock that another worker holds is waited for."""
        if not what.locked:
            return Outcome(self._run(what))
        while True:
            with self._lease(what) as lease:
                if lease.taken:
                    return Outcome(self._run(what, lease.token, lease.is_held))
            if not wait or self.stop.is_set():
                break
            time.sleep(LOCK_PAUSE)
        self.telemetry.run_skipped(what.name)
        self.ask(lambda q: q.record_skipped_run(what.name))
        return Outcome(None)

    def record_error(self, job_id: int, task: str, attempt: int, error: Exception) -> None:
        """Keep why a job failed; where that fails too, the log has it."""
        self.telemetry.job_failed(task, job_id, describe(error))
        with suppress(ReaperError):
            self.ask(lambda q: q.record_job_error(job_id, task, attempt, describe(error)))

    def _service(self, name: str) -> Service:
        service = self.services.get(name)
        if service is None:
            raise BadArgument(
                f"unknown service {name!r}",
                f"Known services: {', '.join(sorted(self.services))}. Do workers of two releases run?",
            )
        return service

    def _lease(self, what: Work) -> AbstractContextManager[ServiceLease]:
        return service_lease.service_lease(
            lambda: self.connect(f"lock:{what.name}"),
            self.bind,
            what.name,
            self.worker,
            self.lease_extended_every,
        )

    def _run(self, what: Work, token: UUID | None = None, holds: Callable[[], bool] = lambda: True) -> Tick:
        with self.open_session(f"service:{what.name}") as session:
            context = self._context(session.call, holds)
            not_run = what.before(context, self._passes)
            if not_run is not None:
                return not_run
            with self._recorded(what.name, token) as figures:
                tick = what.tick(context)
                if not holds():
                    raise ServiceLockLost(f"lease of service {what.name} lost")
                figures.update(tick.figures)
        return tick

    def _passes(self, name: str, stop: Stop) -> bool:
        return self.throttle.passes(name, stop, self.despite)

    def _context(self, ask: Ask, holds: Callable[[], bool]) -> Context:
        def stop() -> Stop:
            return StopAfter(self.stop, self.budget, holds)

        def gate(stop: Stop) -> bool:
            return self._passes(drain.SERVICE.name, stop)

        def may_retry(service: str) -> bool:
            return self.throttle.may_retry(service, self.despite)

        return self.make_context(ask, stop(), self.budget, lambda: self.lanes.drain(stop, gate, may_retry))

    @contextmanager
    def _recorded(self, name: str, token: UUID | None) -> Iterator[dict[str, int]]:
        """Record a run's begin, figures and end; a failing run is a failed run.

        With a lost lease nothing is recorded: the record is that of the worker that has it now.
        """
        self._record(name, lambda q: q.begin_run(name, self.worker, token))
        figures: dict[str, int] = {}
        try:
            yield figures
        except Exception as error:
            text = describe(error)
            self.telemetry.run_failed(name, text)
            with suppress(ReaperError):
                self.ask(lambda q: q.finish_run(name, None, text, token))
            raise
        self._record(name, lambda q: q.finish_run(name, figures, None, token))
        self.telemetry.run_finished(name, figures)

    def _record(self, name: str, record: Callable[[Queries], None]) -> None:
        try:
            self.ask(record)
        except ClaimLost as error:
            raise ServiceLockLost(f"lease of service {name} lost", error.hint) from error

    def _come_back(self, job: Job, pause: timedelta | None = None) -> None:
        self.ask(lambda q: q.enqueue_job(job.task, job.lock, job.arguments, pause))

    def _come_back_after_failure(self, what: Work) -> None:
        if not what.comes_back_after_failures:
            return
        with suppress(ReaperError):
            if self.ask(lambda q: q.failures_in_a_row(what.name)) <= what.comes_back_after_failures:
                self._come_back(what.job)
