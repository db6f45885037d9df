"""A world with workers: processes that run the command, and workers in this process."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from typing import Any

import psycopg

from reaper.services import ALL
from reaper.services.base import Service
from reaper.worker.dispatcher import Dispatcher
from reaper.worker.options import WorkerOptions
from reaper.worker.work_runner import Runner
from tests.support import forked_worker, forked_writer
from tests.support.forked_processes import preload
from tests.support.process_faults import ProcessFault
from tests.support.waiting import wait_until_true
from tests.support.world import World

PLANNED = "exists (select from reaper.services where name = %s and next_run_at is not null)"
RESULT = """
select last_result, last_error, consecutive_failures, skipped, runs from reaper.schedule where name = %s
"""

preload(forked_writer, forked_worker)


@dataclass(frozen=True)
class InProcessWorker:
    """What the jobs of a worker do, to be called from a test."""

    runner: Runner
    dispatcher: Dispatcher

    def __getattr__(self, name: str) -> Any:
        return getattr(self.runner, name)

    def register(self) -> None:
        self.dispatcher.register(self.runner.services.values())

    def tick(self) -> None:
        self.dispatcher.tick()


@dataclass
class WorkerWorld(World):
    """Everything that jobs need, and what they leave in the schedule and in the queue."""

    def worker(self, *arguments: str) -> ForkServerProcess:
        """`reaper worker` in a process of its own."""
        return self._start(forked_worker.main, list(arguments))

    def serving(self, services: Sequence[Service], options: WorkerOptions | None = None) -> ForkServerProcess:
        """A worker that knows these services only."""
        return self._start(forked_worker.serve, options or WorkerOptions(), list(services))

    def killed_writer(self, where: str, code: str, data: bytes) -> ForkServerProcess:
        """A process that puts a paste and is killed on its way, "before commit_put" for example."""
        return self.fork(forked_writer.put, self.wiring, code, data, ProcessFault.of(where))

    def _start(self, target: Callable[..., None], *arguments: Any) -> ForkServerProcess:
        log = self.folder / "logs" / f"worker-{len(self.processes)}.log"
        log.parent.mkdir(exist_ok=True)
        return self.fork(target, self.wiring, str(log), *arguments)

    @contextmanager
    def in_process_worker(
        self, services: Iterable[Service] = ALL, slots: int = 1, **given: Any
    ) -> Iterator[InProcessWorker]:
        """What the jobs of a worker do, to be called from here; its heart beats."""
        with self.app(**given) as app, app.heartbeat():
            in_process = InProcessWorker(app.runner(slots, services), app.dispatcher())
            in_process.register()
            yield in_process

    def said(self) -> str:
        """What the workers logged."""
        return "".join(path.read_text() for path in sorted((self.folder / "logs").glob("*")))

    def until(self, condition: str, *values: Any) -> None:
        """Wait until a query answers true."""
        wait_until_true(self.dsn, f"select coalesce({condition}, false)", *values, said=self.said)

    def started(self, name: str, number: int = 1) -> None:
        """Wait until so many workers take jobs, and the service is planned."""
        self.until("(select count(*) from procrastinate.procrastinate_workers) >= %s", number)
        self.tick()
        self.until(PLANNED, name)

    def tick(self) -> None:
        """Let a worker look for what is due now, and not only when five seconds are over."""
        self.sql("""select reaper.enqueue_job('reaper:tick', 'tick', '{"timestamp": 0}')""")

    def planned(self, in_process: InProcessWorker) -> None:
        """All services have a next run, and none is due."""
        in_process.tick()
        self.sql("update reaper.services set next_run_at = reaper.clock() + interval '1 hour'")

    def due(self, name: str) -> None:
        """Make a service due, planned or not."""
        self.sql("update reaper.services set next_run_at = reaper.clock() where name = %s", name)

    def run(self, name: str) -> None:
        """Make a service due, and let a worker notice."""
        self.due(name)
        self.tick()

    def result(self, name: str) -> Any:
        """Of a service: last figures, last error, failures in a row, how often it was skipped and run."""
        return self.sql(RESULT, name)[0]

    def jobs(self, status: str = "todo") -> list[str]:
        """The names of the jobs in a state."""
        query = "select coalesce(lock, task) from reaper.jobs where status = %s order by 1"
        return [row[0] for row in self.sql(query, status)]

    def forget_jobs(self) -> None:
        """Lose every job row, which must do no harm."""
        self.queue_sql("delete from procrastinate_jobs")

    def queue_sql(self, statement: str, *values: Any) -> None:
        """Change procrastinate's tables, whose triggers look for each other in the search path."""
        with psycopg.connect(self.dsn, options="-c search_path=procrastinate") as connection:
            connection.execute(statement, values or None)

    def cut_off(self, application_name: str) -> None:
        """End the connections of that name."""
        query = "select pg_terminate_backend(pid) from pg_stat_activity where application_name like %s"
        self.sql(query, application_name)
