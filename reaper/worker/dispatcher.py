"""The schedule: services are entered into it, and what is due is queued."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from reaper.errors import ConfigError, describe
from reaper.model import DueService
from reaper.queries import Ask
from reaper.services.base import Service
from reaper.services.schedule_syntax import next_run
from reaper.telemetry.events import Telemetry
from reaper.worker.work_kinds import service_run

# Jobs that one tick rescues; the service job_rescue has no such limit.
AT_ONCE = 100


@dataclass(frozen=True)
class Dispatcher:
    """Any number may run, one in each worker: PostgreSQL lets one of them queue what is due."""

    ask: Ask
    telemetry: Telemetry
    _complained: dict[str, str] = field(default_factory=dict)

    def register(self, services: Iterable[Service]) -> None:
        """Enter the services into the schedule; what a DBA changed there stays."""
        for service in services:
            self._register(service)

    def start(self, services: Iterable[Service]) -> None:
        """Queue the services that a worker runs when it starts, unless they are paused or switched off."""
        for service in services:
            if service.at_start and self.ask(lambda q, name=service.name: q.is_runnable(name)):  # type: ignore[misc]
                job = service_run(service).job
                self.ask(lambda q, job=job: q.enqueue_job(job.task, job.lock, job.arguments, None))  # type: ignore[misc]

    def tick(self) -> None:
        """Queue what is due and what died with its worker, and plan when it is due next."""
        self.telemetry.rescued(self.ask(lambda q: q.rescue_jobs(AT_ONCE)))
        for due in self.ask(lambda q: q.sync_services()):
            self._dispatch(due)

    def _register(self, s: Service) -> None:
        self.ask(lambda q: q.register_service(s.name, s.schedule, s.description, s.enabled))

    def _dispatch(self, due: DueService) -> None:
        try:
            upcoming = next_run(due.schedule, due.now, due.next_run_at, local_now=due.local_now)
        except ConfigError as error:
            self._complain(due, error)
            return
        self.ask(lambda q: q.enqueue_run(due.name, due.next_run_at, upcoming))

    def _complain(self, due: DueService, error: ConfigError) -> None:
        # Once per text: it is due again at every tick.
        if self._complained.get(due.name) != due.schedule:
            self._complained[due.name] = due.schedule
            self.telemetry.run_failed(due.name, error.message)
            self.ask(lambda q: q.finish_run(due.name, None, describe(error)))
