"""What the jobs of a worker do: the tick, a run of a service, a slot of the drain, a purge.

The loop around a service exists once, here: lock, record, run, report, come back. Jobs only wake it: each
may be lost, doubled or late, because what is due is in PostgreSQL, and every run asks there.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta

from reaper.concurrency import Stop, Until
from reaper.db.advisory_lock import exclusion
from reaper.db.connection import Connection
from reaper.db.session import Session
from reaper.errors import BadArgument, ConfigError, ReaperError, ServiceLockLost, said
from reaper.expiry.lane import Lane
from reaper.expiry.throttle import Throttle
from reaper.model import Due
from reaper.services.base import Service, Tick, Tools
from reaper.services.schedule import next_run
from reaper.telemetry.events import Telemetry

QUEUE = "reaper"
BUDGET = 15.0
DRAIN = "drain"
# A drain that fails comes back at once, but not for ever: the next scheduled one tries again.
FAILURES = 3

OpenSession = Callable[[str], AbstractContextManager[Session]]
MakeLane = Callable[[Session, Stop], Lane]


@dataclass(frozen=True)
class Options:
    """How much one process takes on."""

    queues: tuple[str, ...] = (QUEUE,)
    slots: int = 2
    jobs: int | None = None
    health_port: int | None = None

    @property
    def concurrency(self) -> int:
        """Jobs at the same time: the slots, and some for the services and the tick."""
        return self.jobs or self.slots + 4


class Lanes:
    """As many lanes as this process may drain with at a time, kept open between jobs."""

    def __init__(self, lanes: Iterable[Lane]) -> None:
        self._free: queue.SimpleQueue[Lane] = queue.SimpleQueue()
        for lane in lanes:
            self._free.put(lane)

    @contextmanager
    def borrow(self) -> Iterator[Lane]:
        """A lane that nobody else uses meanwhile; waits for one, for a budget at most."""
        lane = self._free.get()
        try:
            yield lane
        finally:
            self._free.put(lane)


@dataclass(frozen=True)
class Crew:
    """The hands of one worker process; its jobs call it from many threads."""

    worker: str
    session: Session
    connect: Callable[[str], Connection]
    open_session: OpenSession
    make_lane: MakeLane
    lanes: Lanes
    throttle: Throttle
    telemetry: Telemetry
    stop: Stop
    stuck_after: timedelta
    services: Mapping[str, Service]
    budget: float = BUDGET
    _complained: dict[str, str] = field(default_factory=dict)

    def register(self) -> None:
        """Enter the services into the schedule."""
        for service in self.services.values():
            self._register(service)

    def tick(self) -> None:
        """Queue what is due, and plan when it is due next."""
        for due in self.session.call(lambda q: q.due_services()):
            self._dispatch(due)

    def run_service(self, name: str) -> None:
        """Run a service once, alone where it must be; a run that finds it locked is skipped."""
        service = self._service(name)
        if service.locked:
            more = self._run_alone(service)
        else:
            more = self._run_in_session(service, lambda: True).more
        if more:
            self._come_back("reaper.service", f"service:{name}", {"name": name})

    def drain_slot(self, slot: int) -> None:
        """Drain until nothing is due or the time budget is over; then come back."""
        try:
            with self.lanes.borrow() as lane:
                stop = Until(self.stop, self.budget)
                lane = replace(lane, stop=stop, gate=lambda stop: self.throttle.passes(DRAIN, stop))
                more = self._run(self._service(DRAIN), lane).more
        except ReaperError:
            self._come_back_after_failure(slot)
            raise
        if more and self.session.call(lambda q: q.is_runnable(DRAIN)):
            self._come_back("reaper.drain", f"drain:{slot}", {"slot": slot})

    def purge(self, policy: str) -> None:
        """Delete one batch of rows that a policy says are too old; come back if the batch was full."""
        name = f"policy:{policy}"
        with self.open_session(f"purge:{policy}") as session:
            limit = session.call(lambda q: q.policy_limit(policy))
            if limit is None:
                return
            full = True
            if self.throttle.passes(name, Until(self.stop, self.budget)):
                with self._recorded(name) as figures:
                    figures["deleted"] = session.call(lambda q: q.purge_aged(policy, limit))
                full = figures["deleted"] == limit
        if full and self.session.call(lambda q: q.is_runnable(name)):
            self._come_back("reaper.purge", name, {"policy": policy})

    def record_error(self, job_id: int, task: str, attempt: int, error: Exception) -> None:
        """Keep why a job failed; where that fails too, the log has it."""
        self.telemetry.job_failed(task, job_id, said(error))
        with suppress(ReaperError):
            self.session.call(lambda q: q.record_job_error(job_id, task, attempt, said(error)))

    def _register(self, s: Service) -> None:
        self.session.call(lambda q: q.register_service(s.name, s.schedule, s.description, s.enabled))

    def _service(self, name: str) -> Service:
        service = self.services.get(name)
        if service is None:
            raise BadArgument(
                f"this worker knows no service {name!r}", "Is an older release running beside a newer one?"
            )
        return service

    def _dispatch(self, due: Due) -> None:
        try:
            upcoming = next_run(due.schedule, due.now, due.next_run_at)
        except ConfigError as error:
            self._complain(due, error)
            return
        self.session.call(lambda q: q.dispatch(due.name, due.next_run_at, upcoming))

    def _complain(self, due: Due, error: ConfigError) -> None:
        # Once per text: it is due again at every tick.
        if self._complained.get(due.name) != due.schedule:
            self._complained[due.name] = due.schedule
            self.telemetry.run_failed(due.name, error.message)
            self.session.call(lambda q: q.finish_run(due.name, None, said(error)))

    def _run_alone(self, service: Service) -> bool:
        with exclusion(self.connect, service.name) as lock:
            if not lock.taken:
                self.telemetry.run_skipped(service.name)
                self.session.call(lambda q: q.skip_run(service.name))
                return False
            return self._run_in_session(service, lock.is_held).more

    def _run_in_session(self, service: Service, holds: Callable[[], bool]) -> Tick:
        with self.open_session(f"service:{service.name}") as session:
            lane = self.make_lane(session, Until(self.stop, self.budget, holds))
            return self._run(service, lane, holds)

    def _run(self, service: Service, lane: Lane, holds: Callable[[], bool] = lambda: True) -> Tick:
        with self._recorded(service.name) as figures:
            tick = service.tick(Tools(lane, self.stuck_after))
            figures.update(tick.figures)
            if not holds():
                raise ServiceLockLost(f"the connection that held the lock of {service.name} broke")
        return tick

    @contextmanager
    def _recorded(self, name: str) -> Iterator[dict[str, int]]:
        """Record a run's begin, figures and end; a failing run is a failed run."""
        self.session.call(lambda q: q.begin_run(name, self.worker))
        figures: dict[str, int] = {}
        try:
            yield figures
        except Exception as error:
            self.telemetry.run_failed(name, said(error))
            text = said(error)
            with suppress(ReaperError):
                self.session.call(lambda q: q.finish_run(name, None, text))
            raise
        self.session.call(lambda q: q.finish_run(name, figures))
        self.telemetry.run_finished(name)

    def _come_back(self, task: str, lock: str, arguments: Mapping[str, str | int]) -> None:
        self.session.call(lambda q: q.defer_job(task, lock, arguments))

    def _come_back_after_failure(self, slot: int) -> None:
        with suppress(ReaperError):
            if self.session.call(lambda q: q.failures_in_a_row(DRAIN)) < FAILURES:
                self._come_back("reaper.drain", f"drain:{slot}", {"slot": slot})
