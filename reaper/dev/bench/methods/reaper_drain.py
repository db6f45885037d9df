"""reaper as a user runs it: the lanes of `reaper drain`, with S3 and Redis or without."""

from __future__ import annotations

import logging
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from reaper import db
from reaper.app import App, Parts
from reaper.cache.none import NoCache
from reaper.concurrency import StopAfter
from reaper.config.settings import Settings
from reaper.dev.bench.method import Go, Needs, Promise, Step, Work
from reaper.dev.bench.server_addresses import Addresses
from reaper.expiry.lane import run_lanes
from reaper.expiry.side_effects import SideEffects, at_once
from reaper.model import ObjectRef
from reaper.queries.failure_arguments import Failures
from reaper.telemetry.events import Telemetry
from reaper.telemetry.logging import configure_logging

# The steps of a lane that take rows: marking them, or releasing them at once.
MARK, REAP = "claim", "reap"


@dataclass(frozen=True)
class ReaperDrain:
    """One process of a drain with so many lanes, for so many seconds, at so many rows a second."""

    lanes: int = 1
    outside: bool = False
    # Rows are claimed and released in one transaction instead of being marked first.
    direct: bool = False
    seconds: float | None = None
    pace: int | None = None

    @property
    def name(self) -> str:
        """How tables and results call it."""
        path = "reaper, everything" if self.outside else "reaper, database path"
        return f"{path}, direct" if self.direct else path

    @property
    def sample(self) -> int | None:
        """A drain that stops after some time leaves rows."""
        return None if self.seconds is None else 0

    @property
    def promise(self) -> Promise:
        """With nothing outside there is nothing to be left there."""
        return Promise.EVERYTHING if self.outside else Promise.DATABASE

    @property
    def needs(self) -> Needs:
        """Valkey and S3, or neither."""
        return Needs.EVERYTHING if self.outside else Needs.DATABASE

    @contextmanager
    def ready(self, addresses: Addresses) -> Iterator[Go]:
        """The whole application, connected where it connects at its start."""
        configure_logging(logging.ERROR)
        if self.direct:
            _release_directly(addresses.dsn)
        stopwatch = Stopwatch()
        with make_app(addresses, self.outside, stopwatch, self.pace) as app:
            if self.outside:
                app.check()
            yield lambda: self._run(app, stopwatch)

    def _run(self, app: App, stopwatch: Stopwatch) -> Work:
        stopwatch.start()
        stop = app.stop if self.seconds is None else StopAfter(app.stop, self.seconds)
        lanes = [app.lane(app.session(f"drain:{n}"), stop) for n in range(self.lanes)]
        with app.heartbeat():
            run_lanes(lanes, app.stop)
        return Work(
            app.telemetry.totals.rows_deleted,
            claims=tuple(stopwatch.claims),
            steps=stopwatch.sums(),
            problems=other_way(self.direct, dict(stopwatch.sums())),
        )


def other_way(direct: bool, steps: Mapping[str, float]) -> tuple[str, ...]:
    """Lanes follow a setting of the database: figures must not stand under the name of the other way."""
    if direct and MARK in steps:
        return ("rows were marked, not released directly",)
    if not direct and REAP in steps:
        return ("rows were released directly, not marked",)
    return ()


class Stopwatch(Telemetry):
    """Telemetry that remembers how long each step took."""

    def __init__(self) -> None:
        super().__init__()
        self.start()

    def start(self) -> None:
        """The measurement begins."""
        self._began = time.perf_counter()
        self._steps: defaultdict[str, list[Step]] = defaultdict(list)

    @property
    def claims(self) -> list[Step]:
        """Every claim, or with direct release every claim with its release."""
        return [*self._steps.get(MARK, ()), *self._steps.get(REAP, ())]

    def sums(self) -> tuple[tuple[str, float], ...]:
        """The time that each kind of step took altogether."""
        return tuple((name, sum(s.seconds for s in steps)) for name, steps in self._steps.items())

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time one step of a batch."""
        began = time.perf_counter()
        with super().step(name):
            yield
        self._steps[name].append(Step(began - self._began, time.perf_counter() - began))


def _release_directly(dsn: str) -> None:
    with db.connect(dsn, "bench:mode") as connection:
        connection.execute("update reaper.settings set claim_mode = 'direct'")


class NothingOutside(SideEffects):
    """Side effects of the database path alone: everything is gone at once."""

    def run(
        self,
        codes: Sequence[str],  # noqa: ARG002
        objects: Sequence[ObjectRef],  # noqa: ARG002
        may_delete: Callable[[], bool] = at_once,  # noqa: ARG002
    ) -> Failures:
        """Nothing fails."""
        return []


def make_app(addresses: Addresses, outside: bool, telemetry: Telemetry, pace: int | None = None) -> App:
    """The application at these addresses; nothing of the user's own environment reaches it."""
    if not outside:
        parts = Parts(telemetry=telemetry, side_effects=NothingOutside({}, NoCache(), telemetry), stores={})
        return App(_settings(addresses.dsn, rows_per_second=pace), parts)
    assert addresses.bucket is not None
    os.environ.update(
        AWS_ACCESS_KEY_ID=addresses.bucket.access_key,
        AWS_SECRET_ACCESS_KEY=addresses.bucket.secret_key,
        AWS_DEFAULT_REGION="us-east-1",
    )
    given = {
        "redis_url": addresses.cache_url,
        "s3_bucket": addresses.bucket.name,
        "s3_endpoint_url": addresses.bucket.endpoint_url,
    }
    return App(_settings(addresses.dsn, rows_per_second=pace, **given), Parts(telemetry=telemetry))


def _settings(dsn: str, **given: object) -> Settings:
    defaults = {name: field.default for name, field in Settings.model_fields.items()}
    return Settings(**{**defaults, "database_url": dsn, **given})
