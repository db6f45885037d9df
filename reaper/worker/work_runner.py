"""The run path of all background work: lock, record, run, report, come back.

Jobs only wake it: each may be lost, doubled or late, because what is due is in PostgreSQL, and every run asks
there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field

from reaper.concurrency import Stop, StopAfter
from reaper.db.advisory_lock import AdvisoryLock, advisory_lock
from reaper.db.connection import Connection
from reaper.db.reconnecting_session import Session
from reaper.errors import BadArgument, ReaperError, ServiceLockLost, describe
from reaper.expiry.lane import Drained
from reaper.expiry.throttle import Throttle
from reaper.queries import Ask, Queries
from reaper.services import drain
from reaper.services.base import Context, Service, Tick
from reaper.telemetry.events import Telemetry
from reaper.worker import work_kinds
from reaper.worker.lane_pool import LanePool
from reaper.worker.work_kinds import POLICY, Job, Work

BUDGET = 15.0
# How often a run that waits for a service's lock tries again.
LOCK_PAUSE = 0.5

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
    # An operator runs it: also what is switched off or paused.
    by_hand: bool = False

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
        """Run, and queue the next run at once where there is more to do."""
        try:
            outcome = self.run(what)
        except ReaperError:
            self._come_back_after_failure(what)
            raise
        if outcome.tick and outcome.tick.more and self.ask(lambda q: q.is_runnable(what.name)):
            self._come_back(what.job)

    def run(self, what: Work, wait: bool = False) -> Outcome:
        """One run; with `wait`, a lock that another worker holds is waited for."""
        if not what.locked:
            return Outcome(self._run(what, lambda: True))
        while True:
            with self._lock(what) as lock:
                if lock.taken:
                    return Outcome(self._run(what, lock.is_held))
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

    def _lock(self, what: Work) -> AbstractContextManager[AdvisoryLock]:
        return advisory_lock(
            lambda: self.connect(f"lock:{what.name}"),
            take=lambda connection: self.bind(connection).lock_service(what.name),
            free=lambda connection: self.bind(connection).unlock_service(what.name),
        )

    def _run(self, what: Work, holds: Callable[[], bool]) -> Tick:
        with self.open_session(f"service:{what.name}") as session:
            context = self._context(session.call, holds)
            not_run = what.before(context, self._passes)
            if not_run is not None:
                return not_run
            with self._recorded(what.name) as figures:
                tick = what.tick(context)
                if not holds():
                    raise ServiceLockLost(f"connection that held the lock of service {what.name} lost")
                figures.update(tick.figures)
        return tick

    def _passes(self, name: str, stop: Stop) -> bool:
        return self.throttle.passes(name, stop, self.by_hand)

    def _context(self, ask: Ask, holds: Callable[[], bool]) -> Context:
        def stop() -> Stop:
            return StopAfter(self.stop, self.budget, holds)

        def gate(stop: Stop) -> bool:
            return self._passes(drain.SERVICE.name, stop)

        return self.make_context(ask, stop(), self.budget, lambda: self.lanes.drain(stop, gate))

    @contextmanager
    def _recorded(self, name: str) -> Iterator[dict[str, int]]:
        """Record a run's begin, figures and end; a failing run is a failed run."""
        self.ask(lambda q: q.begin_run(name, self.worker))
        figures: dict[str, int] = {}
        try:
            yield figures
        except Exception as error:
            text = describe(error)
            self.telemetry.run_failed(name, text)
            with suppress(ReaperError):
                self.ask(lambda q: q.finish_run(name, None, text))
            raise
        self.ask(lambda q: q.finish_run(name, figures))
        self.telemetry.run_finished(name, figures)

    def _come_back(self, job: Job) -> None:
        self.ask(lambda q: q.enqueue_job(job.task, job.lock, job.arguments))

    def _come_back_after_failure(self, what: Work) -> None:
        if not what.comes_back_after_failures:
            return
        with suppress(ReaperError):
            if self.ask(lambda q: q.failures_in_a_row(what.name)) <= what.comes_back_after_failures:
                self._come_back(what.job)
