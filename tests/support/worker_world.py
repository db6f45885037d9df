"""A world with workers: processes that run the command, and workers in this process."""

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import psycopg

from reaper.services import ALL
from reaper.services.base import Service
from reaper.worker.dispatcher import Dispatcher
from reaper.worker.options import WorkerOptions
from reaper.worker.runner import Runner
from tests.support import forked_worker, forked_writer
from tests.support.world import World, forks, preload

# Long: on a busy machine everything takes its time, and what happens ends the wait.
DEADLINE = 110

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
class Works(World):
    """A database, a bucket and a cache, and whoever works on them."""

    logs: Path = Path()
    processes: list[ForkServerProcess] = field(default_factory=list)

    def worker(self, *arguments: str) -> ForkServerProcess:
        """`reaper worker` in a process of its own."""
        return self._start(forked_worker.main, list(arguments))

    def serving(self, services: Sequence[Service], options: WorkerOptions | None = None) -> ForkServerProcess:
        """A worker that knows these services only."""
        return self._start(forked_worker.serve, options or WorkerOptions(), list(services))

    def _start(self, target: Callable[..., None], *arguments: Any) -> ForkServerProcess:
        log = str(self.logs / f"worker-{len(self.processes)}.log")
        process = forks.Process(target=target, args=(self.variables, log, *arguments))
        process.start()
        self.processes.append(process)
        return process

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
        return "".join(path.read_text() for path in sorted(self.logs.iterdir()))

    def until(self, condition: str, *values: Any) -> None:
        """Wait until a query answers true."""
        query = f"select coalesce({condition}, false)"
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            wait_until(
                lambda: connection.execute(query, values or None).fetchone() == (True,),
                condition,
                self.said,
            )

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

    def due(self, name: str) -> None:
        """Make a service due, planned or not."""
        self.sql("update reaper.services set next_run_at = reaper.clock() where name = %s", name)

    def end(self) -> None:
        """Kill whatever still runs."""
        for process in self.processes:
            if process.is_alive():
                process.kill()
            process.join(DEADLINE)


def wait_until(happened: Callable[[], bool], what: str, said: Callable[[], str] = str) -> None:
    """Return when it has happened; fail when that takes too long, with all that was said until then."""
    deadline = time.monotonic() + DEADLINE
    while not happened():
        assert time.monotonic() < deadline, f"did not happen: {what}\n{said()}"
        time.sleep(0.02)


def terminate(process: ForkServerProcess) -> int | None:
    """Ask a worker to stop; its exit code."""
    assert process.pid is not None
    os.kill(process.pid, signal.SIGTERM)
    process.join(DEADLINE)
    return process.exitcode
