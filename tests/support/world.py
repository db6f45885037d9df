"""A database, a bucket and a cache that belong together, and the workers in and out of this process."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import ModuleType
from typing import Any

import psycopg
import redis
from moto.s3.models import s3_backends

from reaper import config
from reaper.app import App, Parts
from tests.support import forked_drain
from tests.support.process_faults import Doom
from tests.support.service_ticks import watchdog_tick

ACCOUNT = "123456789012"
CACHE_KEY = "paste:{short_code}"
DEADLINE = 60
LOGIN = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}

# Workers are forked from a clean process that has imported everything: a fresh interpreter takes seconds.
# Also pytest, since a forked process looks at the main program.
forks = multiprocessing.get_context("forkserver")
_preloaded = ["pytest"]


def preload(*modules: ModuleType) -> None:
    """Let that process import these; it starts with the first worker, when all tests have been collected."""
    _preloaded.extend(module.__name__ for module in modules)
    forks.set_forkserver_preload(_preloaded)


preload(forked_drain)


@dataclass
class World:
    """Everything a drain needs, and a judge of what it left."""

    dsn: str
    redis_url: str
    endpoint_url: str
    bucket: str
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def variables(self) -> dict[str, str]:
        return {
            "REAPER_DATABASE_URL": self.dsn,
            "REAPER_REDIS_URL": self.redis_url,
            "REAPER_S3_BUCKET": self.bucket,
            "REAPER_S3_ENDPOINT_URL": self.endpoint_url,
            "REAPER_CACHE_KEY": CACHE_KEY,
            **LOGIN,
            **self.extra,
        }

    def app(self, parts: Parts | None = None, **given: Any) -> App:
        """An App in this process."""
        os.environ.update(LOGIN)
        named = {n.removeprefix("REAPER_").lower(): v for n, v in self.variables.items() if n not in LOGIN}
        return App(config.load("database_url", "backends", **{**named, **given}), parts or Parts())

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

    def doomed(self, where: str, how: str = "kill", nth: int = 1, batch_size: int = 100) -> ForkServerProcess:
        """A drain in a process of its own that kills or stops itself, "after claim_expired" for example."""
        return self._forked(batch_size, Doom.of(where, how, nth))

    def apart(self, batch_size: int = 100) -> ForkServerProcess:
        """A drain in a process of its own."""
        return self._forked(batch_size)

    def _forked(self, batch_size: int, *dooms: Doom) -> ForkServerProcess:
        variables = {**self.variables, "REAPER_BATCH_SIZE": str(batch_size)}
        process = forks.Process(target=forked_drain.main, args=(variables, *dooms))
        process.start()
        return process

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The command as a person runs it."""
        clean = {n: v for n, v in os.environ.items() if not n.startswith(("REAPER_", "AWS_"))}
        return subprocess.run(
            [sys.executable, "-m", "reaper", *arguments],
            env={**clean, **self.variables},
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def value(self, statement: str, *values: Any) -> Any:
        return self.sql(statement, *values)[0][0]

    def advance_clock(self, interval: str) -> None:
        self.sql(
            "update reaper.settings set clock_may_move = true, clock_offset = clock_offset + %s::interval",
            interval,
        )

    def cache(self) -> Any:
        return redis.Redis.from_url(self.redis_url, decode_responses=True)

    def keys(self) -> set[str]:
        """What really lies in the bucket."""
        return set(s3_backends[ACCOUNT]["aws"].buckets[self.bucket].keys)

    def buckets(self) -> dict[str, dict[str, bytes]]:
        """All that lies on each backend."""
        return {"default": contents(self.bucket)}

    def put(self, keys: list[str]) -> None:
        """Store objects past HTTP: this process is the server."""
        backend = s3_backends[ACCOUNT]["aws"]
        for key in keys:
            backend.put_object(self.bucket, key, b"0123456789")

    def cached(self) -> set[str]:
        """The codes that have a cache entry."""
        with self.cache() as cache:
            return {key.removeprefix("paste:") for key in cache.scan_iter("paste:*", count=1000)}

    def cache_entries(self) -> dict[str, bytes]:
        """What the cache has of each code."""
        with redis.Redis.from_url(self.redis_url) as cache:
            codes = sorted(self.cached())
            found = cache.mget([f"paste:{code}" for code in codes]) if codes else []
            return {code: data for code, data in zip(codes, found, strict=True) if data is not None}

    def judge(self) -> None:
        """Nothing due is left, nothing live is lost, bucket and cache agree with the rows."""
        assert self.sql("select * from reaper.check_invariants()") == []
        assert self.value("select reaper.count_due()") == 0
        assert self.sql("select * from reaper.in_flight") == []
        live = {row[0] for row in self.sql("select coalesce(object_key, content_hash) from content")}
        assert self.keys() == live
        assert self.cached() <= {row[0] for row in self.sql("select short_code from pastes")}


def contents(bucket: str) -> dict[str, bytes]:
    """What really lies in a bucket: this process is the server."""
    return {key: found.value for key, found in s3_backends[ACCOUNT]["aws"].buckets[bucket].keys.items()}


def ended(process: ForkServerProcess) -> int | None:
    """Wait for the end of a process; its exit code, negative for a signal."""
    process.join(DEADLINE)
    return process.exitcode


def stopped(process: ForkServerProcess) -> None:
    """Wait until the process has stopped itself."""
    deadline = time.monotonic() + DEADLINE
    while _state(process) != "T":
        assert process.exitcode is None, f"ended with {process.exitcode} instead of stopping"
        assert time.monotonic() < deadline, "did not stop"
        time.sleep(0.005)


def _state(process: ForkServerProcess) -> str | None:
    """One letter, as the kernel calls it; None when the process is gone."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    return None


def continued(process: ForkServerProcess) -> None:
    assert process.pid is not None
    os.kill(process.pid, signal.SIGCONT)
