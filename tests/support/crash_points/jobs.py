"""What processes do that are killed and stopped: all jobs of a worker, all calls of an application."""

import json
import logging
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import structlog

import reaper.cache.redis.cache
import reaper.cache.redis.claim_lock
import reaper.cache.redis.paste_cache  # noqa: F401  loaded before the fork
from reaper import config
from reaper.app import App
from reaper.db.advisory_lock import exclusion
from reaper.dev import fault_points
from reaper.errors import ReaperError
from reaper.model import Intent
from reaper.queries import Queries
from reaper.services import ALL
from reaper.worker.runner import Crew
from tests.support.crash_points.stray_statements import Strays
from tests.support.folder_store import Folder
from tests.support.process_faults import Doom, Fate

DAY = timedelta(days=1)
BACKENDS = ("default", "cold")
# How a process ends that was told no by reaper, in words.
SAID_NO = 3


@dataclass(frozen=True)
class Errand:
    """What one process is to do, where, and with which paste, where it is about one."""

    job: str
    variables: dict[str, str]
    folder: str
    dooms: tuple[Doom, ...] = ()
    code: str = ""
    data: bytes = b""
    # Where it tells which points it passed; killed ones tell nothing.
    report: str | None = None


@dataclass(frozen=True)
class Passage:
    """Which points a process passed, how often, and what it said elsewhere."""

    passed: dict[str, int]
    strays: list[str]


Act = Callable[[App, Errand], object]


@dataclass(frozen=True)
class Job:
    """Something that a process does; what befalls it in any case leads it past points of its own."""

    act: Act
    dooms: tuple[Doom, ...] = ()
    makes: bool = False
    ends: bool = False
    extends: bool = False
    # Two faults at once: bytes stay that nobody but verify finds, and docs/reliability.md says so.
    may_be_killed: bool = True

    @property
    def is_about_a_paste(self) -> bool:
        """Whether it has a paste to change, however late it comes."""
        return self.makes or self.ends or self.extends


def drain(app: App, _: Errand) -> None:
    app.drain()


def crewed(act: Callable[[Crew], object]) -> Act:
    """A job as a worker runs it."""

    def run(app: App, _: Errand) -> None:
        with app.pulse():
            act(app.crew(slots=1))

    return run


def serve(name: str) -> Act:
    return crewed(lambda crew: crew.run_service(name))


def schedule(crew: Crew) -> None:
    """What a worker does besides: it enters the services, queues what is due, and keeps why a job failed."""
    crew.register()
    crew.tick()
    crew.record_error(1, "reaper.service", 1, ReaperError("it failed"))


def start(app: App, _: Errand) -> None:
    app.check()
    app.cache.check()
    app.count_due()


def prune_beside_another(app: App, _: Errand) -> None:
    with app.pulse(), exclusion(app.connect, "prune"):
        app.crew(slots=1).run_service("prune")


def throttled(app: App, _: Errand) -> None:
    """As a slot whose first batch has to wait for a replica."""
    reasons = iter(["a replica is behind"])
    ask = Queries.throttle
    with patch.object(Queries, "throttle", lambda queries: next(reasons, None) or ask(queries)), app.pulse():
        app.crew(slots=1).drain_slot(0)


def put(app: App, errand: Errand) -> None:
    app.store().put(errand.data, DAY, errand.code)


def put_too_late(app: App, errand: Errand) -> None:
    """A put whose first intent is ended by somebody else before its bytes are there."""
    begin = Queries.begin_put
    ended: list[Intent] = []

    def begun(queries: Queries, *arguments: Any) -> Intent:
        intent = begin(queries, *arguments)
        if not ended:
            ended.append(intent)
            queries.abort_put(intent.intent_id, uploaded=False)
        return intent

    with patch.object(Queries, "begin_put", begun):
        put(app, errand)


def get(app: App, errand: Errand) -> None:
    paste = app.store().get(errand.code)
    assert paste is not None
    assert paste.data == errand.data


def delete(app: App, errand: Errand) -> None:
    app.store().delete(errand.code)


def extend(app: App, errand: Errand) -> None:
    assert app.store().extend(errand.code, 2 * DAY)


def lost(point: str, nth: int = 1) -> tuple[Doom, ...]:
    return (Doom("lost", point, nth=nth),)


def busy(point: str, times: int) -> tuple[Doom, ...]:
    return (Doom("busy", point, times=times),)


JOBS: dict[str, Job] = {
    "drain": Job(drain),
    "drain whose claim is not answered": Job(drain, lost("claim_expired")),
    "drain that gets no locks": Job(drain, busy("drop_references", 3)),
    "drain without cache": Job(drain, lost("cache.forget")),
    "drain without backend": Job(drain, lost("objects.delete")),
    "slot": Job(crewed(lambda crew: crew.drain_slot(0))),
    "slot that is throttled": Job(throttled),
    "slot that fails": Job(crewed(lambda crew: crew.drain_slot(0)), busy("adopt_batch", 3)),
    **{service.name: Job(serve(service.name)) for service in ALL if service.name != "drain"},
    "prune beside another": Job(prune_beside_another),
    "pending_reaper without backend": Job(serve("pending_reaper"), lost("objects.digest")),
    "schedule": Job(crewed(schedule)),
    "purge": Job(crewed(lambda crew: crew.purge("notes"))),
    "start": Job(start),
    "put": Job(put, makes=True),
    "put of known content": Job(put, makes=True),
    "put whose upload is not answered": Job(put, lost("objects.put"), makes=True),
    "put that is too late": Job(put_too_late, makes=True, may_be_killed=False),
    "get": Job(get),
    "get of cached": Job(get),
    "get without its best copy": Job(get, lost("objects.get")),
    "delete": Job(delete, ends=True),
    "extend": Job(extend, extends=True),
}
# What no job does: it speaks past all points.
STRAY = Job(lambda app, _: app.connect("stray").execute("select 2"))


def find(name: str) -> Job:
    return STRAY if name == "stray" else JOBS[name]


def main(errand: Errand) -> None:
    """Run the errand; ends with 0, with SAID_NO, by a signal, or with an error that must not be."""
    os.environ.update(errand.variables)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    job = find(errand.job)
    fate = Fate((*job.dooms, *errand.dooms))
    if errand.report is None:
        _run(errand, job.act, fate)
        return
    strays = Strays(fate)
    try:
        _run(errand, job.act, strays)
    finally:
        told = Passage(dict(fate.passed), sorted(strays.found))
        Path(errand.report).write_text(json.dumps(asdict(told)))


def _run(errand: Errand, act: Act, around: fault_points.Around) -> None:
    app = App(config.load_all("database_url", config.BACKENDS))
    app.__dict__["buckets"] = {name: Folder(Path(errand.folder) / name) for name in BACKENDS}
    fault_points.surround(app, around)
    try:
        with app:
            act(app, errand)
    except ReaperError as error:
        print(f"{errand.job}: {error.message}", file=sys.stderr)
        sys.exit(SAID_NO)
