"""A database, backends and a cache that belong together, whoever works on them, and a judge of what is left.

    world.populate(due=1_000, live=500, contents=700)
    world.drain()
    world.judge()

Backends are buckets of the S3 double, or folders. Suites extend this class where they add something of their
own: workers (worker_world), races, faults, crash points, damage.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, Self

import psycopg
import redis

from reaper.app import App
from reaper.ports import ObjectStore
from reaper.store.store import Store
from tests.support import forked_drain, judge, population
from tests.support.folder_store import FolderStore
from tests.support.forked_processes import fork, preload
from tests.support.judge import Log
from tests.support.process_faults import ProcessFault
from tests.support.s3_double.served_bucket import ServedBucket
from tests.support.s3_double.server import ScriptedS3
from tests.support.service_ticks import watchdog_tick
from tests.support.waiting import PATIENCE
from tests.support.watched_store import WatchedStore
from tests.support.wiring import LOGIN, Wiring

CACHE_KEY = "paste:{short_code}"
DAY = timedelta(days=1)
CLAIM_MODES = ("mark", "direct")
# The bytes of an object that a test stores without caring which.
BODY = b"0123456789"

Bucket = ServedBucket | FolderStore

preload(forked_drain)


@dataclass
class World:
    """Everything that an App needs; without `redis_url` there is no cache."""

    dsn: str
    redis_url: str
    backends: dict[str, Bucket]
    # For files of its own: a configuration, logs, reports.
    folder: Path
    extra: dict[str, str] = field(default_factory=dict)
    # What was created and read outside the database, for who wants to have it judged.
    log: Log = field(default_factory=Log)
    processes: list[ForkServerProcess] = field(default_factory=list)

    def __enter__(self) -> Self:
        """Nothing is cached."""
        if self.redis_url:
            self.cache().flushall()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Kill whatever still runs."""
        for process in self.processes:
            if process.is_alive():
                process.kill()
            process.join(PATIENCE)

    @property
    def variables(self) -> dict[str, str]:
        """What an operator would set; several backends, or folders, stand in a file."""
        variables = {
            "REAPER_DATABASE_URL": self.dsn,
            "REAPER_CACHE_KEY": CACHE_KEY,
            **({"REAPER_REDIS_URL": self.redis_url} if self.redis_url else {}),
            **self._backend_variables(),
        }
        return {**variables, **LOGIN, **self.extra}

    def _backend_variables(self) -> dict[str, str]:
        match self.backends:
            case {"default": ServedBucket() as bucket, **others} if not others:
                return {"REAPER_S3_BUCKET": bucket.name, "REAPER_S3_ENDPOINT_URL": bucket.endpoint_url}
        return {"REAPER_CONFIG": str(self._written())}

    def _written(self) -> Path:
        """The configuration; whoever reads it meanwhile finds all of it."""
        text = "".join(_table(name, bucket) for name, bucket in self.backends.items())
        path = self.folder / "reaper.toml"
        if not path.exists() or path.read_text() != text:
            draft = self.folder / f"{threading.get_ident()}.toml"
            draft.write_text(text)
            draft.replace(path)
        return path

    @property
    def wiring(self) -> Wiring:
        """How an App is made, here or in another process."""
        folders = {name: b.root for name, b in self.backends.items() if isinstance(b, FolderStore)}
        return Wiring(self.variables, folders)

    def app(self, **given: Any) -> App:
        """An App in this process; see Wiring.app for what can be replaced in it."""
        return self.wiring.app(**given)

    @contextmanager
    def opened(self, **given: Any) -> Iterator[tuple[Store, dict[str, WatchedStore]]]:
        """A store, and its backends under observation."""
        watched: dict[str, WatchedStore] = {}

        def watch(name: str, store: ObjectStore) -> WatchedStore:
            watched[name] = WatchedStore(store)
            return watched[name]

        with self.app(wrap_store=watch, **given) as app:
            yield app.store(), watched

    def drain(self, workers: int = 1, max_batches: int | None = None, **given: Any) -> App:
        """Drain to the end in this process."""
        with self.app(**given) as app:
            app.drain(workers, max_batches)
            return app

    def watchdog(self) -> None:
        """Let the watchdog look once."""
        with self.app() as app, app.heartbeat():
            watchdog_tick(app)

    def outlive(self) -> None:
        """Let the watchdog find who was killed or stopped; a heartbeat under way may hide him once."""
        for _ in range(2):
            self.advance_clock("61 seconds")
            self.watchdog()

    def settle(self) -> None:
        """Let go what is deleted late and twice; then nothing may be left but what lives."""
        for _ in range(3):
            self.advance_clock("1 hour")
            self.drain()
        self.judge()
        assert self.sql("select * from reaper.put_intents") == []
        assert self.sql("select * from reaper.cleanup_queue") == []

    def drain_process(self, *faults: ProcessFault, batch_size: int = 100) -> ForkServerProcess:
        """A drain in a process of its own, and what is to happen to it."""
        variables = {**self.variables, "REAPER_BATCH_SIZE": str(batch_size)}
        return self.fork(forked_drain.main, Wiring(variables, self.wiring.folders), *faults)

    def killed_drain(self, where: str, nth: int = 1) -> ForkServerProcess:
        """A drain in a process of its own that kills itself, "after claim_expired" for example."""
        return self.drain_process(ProcessFault.of(where, "kill", nth))

    def stopped_drain(self, where: str, nth: int = 1) -> ForkServerProcess:
        """A drain in a process of its own that stops itself until it is continued."""
        return self.drain_process(ProcessFault.of(where, "stop", nth))

    def fork(self, target: Any, *arguments: Any) -> ForkServerProcess:
        """A process that does not outlive the test."""
        process = fork(target, *arguments)
        self.processes.append(process)
        return process

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The command as a person runs it."""
        clean = {n: v for n, v in os.environ.items() if not n.startswith(("REAPER_", "AWS_"))}
        return subprocess.run(
            [sys.executable, "-m", "reaper", *arguments],
            env={**clean, **self.variables},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a statement, on a connection of its own."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def value(self, statement: str, *values: Any) -> Any:
        """The first column of the first row."""
        return self.sql(statement, *values)[0][0]

    def now(self) -> datetime:
        """The time that reaper decides by."""
        now: datetime = self.value("select reaper.clock()")
        return now

    def advance_clock(self, interval: str) -> None:
        """Let time pass."""
        self.sql(
            "update reaper.settings set clock_may_move = true, clock_offset = clock_offset + %s::interval",
            interval,
        )

    def set_claim_mode(self, claim_mode: str) -> None:
        """How drains take due rows from now on: mark or direct."""
        self.sql("update reaper.settings set claim_mode = %s", claim_mode)

    def populate(self, **figures: Any) -> None:
        """Pastes, their objects and their cache entries; see population.fill."""
        population.fill(self, **figures)

    @property
    def s3(self) -> ScriptedS3:
        """The double that serves the buckets."""
        bucket = self.backends["default"]
        assert isinstance(bucket, ServedBucket)
        return bucket.server

    def put(self, keys: Sequence[str], backend: str = "default") -> None:
        """Store objects past reaper."""
        for key in keys:
            self.backends[backend].store(key, BODY)

    def keys(self, backend: str = "default") -> set[str]:
        """What really lies in a bucket."""
        return self.backends[backend].keys()

    def buckets(self) -> dict[str, dict[str, bytes]]:
        """All that lies on each backend."""
        return {name: bucket.contents() for name, bucket in self.backends.items()}

    def cache(self) -> Any:
        """The test's own way to Redis."""
        return redis.Redis.from_url(self.redis_url, decode_responses=True)

    def entries(self) -> set[str]:
        """Every key in Redis."""
        with self.cache() as cache:
            return set(cache.keys())

    def cached(self) -> set[str]:
        """The codes that have a cache entry."""
        if not self.redis_url:
            return set()
        with self.cache() as cache:
            return {key.removeprefix("paste:") for key in cache.scan_iter("paste:*", count=1000)}

    def cache_entries(self) -> Mapping[str, bytes]:
        """What the cache has of each code."""
        codes = sorted(self.cached())
        if not codes:
            return {}
        with redis.Redis.from_url(self.redis_url) as cache:
            found = cache.mget([f"paste:{code}" for code in codes])
            return {code: data for code, data in zip(codes, found, strict=True) if data is not None}

    def complaints(self, settled: bool = False) -> list[str]:
        """All that is wrong, by what the log says was created and read."""
        return judge.complaints(self, self.log, settled)

    def judge(self) -> None:
        """Nothing due is left, nothing live is lost, buckets and cache agree with the rows."""
        assert self.sql("select * from reaper.check_invariants()") == []
        assert self.value("select reaper.count_due()") == 0
        assert self.sql("select * from reaper.in_flight") == []
        copies = {(backend, key) for _, backend, key, _ in self.sql(judge.COPIES)}
        for name in self.backends:
            assert self.keys(name) == {key for backend, key in copies if backend == name}
        assert self.cached() <= {row[0] for row in self.sql("select short_code from pastes")}


def _table(name: str, bucket: Bucket) -> str:
    """The lines of a backend in reaper.toml; who stands for a folder is asked nothing."""
    where, endpoint = name, "http://127.0.0.1:1"
    if isinstance(bucket, ServedBucket):
        where, endpoint = bucket.name, bucket.endpoint_url
    return f'[backends.{name}]\nbucket = "{where}"\nendpoint_url = "{endpoint}"\n'
