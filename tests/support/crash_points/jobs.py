"""What processes do that are killed and stopped: all jobs of a worker, all calls of an application."""

import json
import secrets
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import reaper.cache.redis.cache
import reaper.cache.redis.claim_lock
import reaper.cache.redis.paste_cache
import reaper.cache.redis.usage_board
import reaper.storage.copier
from reaper.app import App
from reaper.db.connection import Connection
from reaper.errors import ClaimLost, ReaperError
from reaper.model import START, FailedCopy, Intent
from reaper.ops import status
from reaper.ports import Reading
from reaper.queries import Queries
from reaper.queries.base import Intercept
from reaper.queries.dlq import DlqFilter
from reaper.queries.integrity import Pass
from reaper.queries.notifications import Replay
from reaper.services import ALL
from reaper.services.base import Context, Tick
from reaper.storage.owner_marker import OWNER_KEY
from reaper.storage.usage_meter import Kind
from tests.support.captured_logs import silence_logs
from tests.support.crash_points.calls_past_points import StrayStatements
from tests.support.event_loop import beside_a_loop, store_on_loop
from tests.support.process_faults import FaultPlan, ProcessFault
from tests.support.replaced_parts import instead_of, nested
from tests.support.wiring import Wiring
from tests.support.worker_world import InProcessWorker

DAY = timedelta(days=1)
ANY = DlqFilter()
BACKENDS = ("default", "cold")
# How a process ends that was told no by reaper, in words.
SAID_NO = 3


@dataclass(frozen=True)
class Errand:
    """What one process is to do, where, and with which paste, where it is about one."""

    job: str
    wiring: Wiring
    faults: tuple[ProcessFault, ...] = ()
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
    faults: tuple[ProcessFault, ...] = ()
    # What it finds at its queries, in a process of its own each time.
    around: Callable[[], Intercept] | None = None
    makes: bool = False
    ends: bool = False
    extends: bool = False
    # It stores objects of its own: one that wakes up too late has them deleted again.
    copies: bool = False
    # Two faults at once: bytes stay that nobody but verify finds, and docs/reliability.md says so.
    may_be_killed: bool = True
    # Its questions to PostgreSQL are awaited.
    on_a_loop: bool = False

    @property
    def is_about_a_paste(self) -> bool:
        """Whether it has a paste to change, however late it comes."""
        return self.makes or self.ends or self.extends

    @property
    def is_only_about_rows(self) -> bool:
        """Whether nothing of what it does too late may be seen anywhere."""
        return not (self.is_about_a_paste or self.copies)

    def has_fault_at(self, point: str, nth: int) -> bool:
        """Whether something befalls it at this passing of a point in any case."""
        return any(fault.point == point and fault.strikes(nth) for fault in self.faults)


def drain(app: App, _: Errand) -> None:
    app.drain()


def in_worker(act: Callable[[InProcessWorker], object]) -> Act:
    """A job as a worker runs it."""

    def run(app: App, _: Errand) -> None:
        with app.heartbeat():
            act(InProcessWorker(app.runner(slots=1), app.dispatcher()))

    return run


def serve(name: str) -> Act:
    return in_worker(lambda in_process: in_process.run_service(name))


def schedule(in_process: InProcessWorker) -> None:
    """What a worker does besides: it enters the services, queues what is due, and keeps why a job failed."""
    in_process.register()
    in_process.tick()
    in_process.record_error(1, "reaper:service", 1, ReaperError("it failed"))


def start(app: App, _: Errand) -> None:
    app.check()
    app.cache.check()
    app.count_due()


def prune_beside_another(app: App, _: Errand) -> None:
    runner = app.runner(slots=1)
    with app.heartbeat(), runner._lease(runner.find("prune")):
        runner.run_service("prune")


def prune_for_long(app: App, _: Errand) -> None:
    """A run during which the lease is extended."""
    extended = threading.Event()

    def tick(_: Context) -> Tick:
        assert extended.wait(60)
        return Tick()

    runner = app.runner(slots=1)
    bind = runner.bind

    def watched(connection: Connection) -> Queries:
        queries = bind(connection)
        ask = queries.extend_service_lease

        def extend(name: str, token: UUID | None) -> bool:
            try:
                return ask(name, token)
            finally:
                extended.set()

        queries.extend_service_lease = extend  # type: ignore[method-assign]
        return queries

    long = replace(runner.services["prune"], tick=tick)
    runner = replace(runner, bind=watched, services={"prune": long}, lease_extended_every=0.01)
    with app.heartbeat():
        runner.run_service("prune")


def throttled_once() -> Intercept:
    """The first batch has to wait for a replica."""
    reasons = iter(["a replica is behind"])

    def before_batch(call: Any, *arguments: Any) -> Any:
        return replace(call(*arguments), wait=next(reasons, None))

    return instead_of({"before_batch": before_batch})


def paused_at_once() -> Intercept:
    """The drain is paused before its first claim."""
    return instead_of({"before_batch": lambda call, *arguments: replace(call(*arguments), pause="paused")})


def keys_not_known_yet() -> Intercept:
    """It is not known whether objects lie under the bound keys."""
    return instead_of({"key_binding": lambda call, *arguments: replace(call(*arguments), confirmed=None)})


def directly() -> Intercept:
    """Due rows are released without being marked first, whatever the setting says."""
    return instead_of({"reaps_directly": lambda call, *arguments: call(*arguments) is not None})


def copied_for_long() -> Intercept:
    """The lease of copies is renewed before the first of them is read."""
    reaper.storage.copier.TURN = reaper.storage.copier.RENEWED_EVERY = 0.01
    renewed = threading.Event()

    def read(call: Any, *arguments: Any) -> Any:
        assert renewed.wait(60)
        return call(*arguments)

    def renew(call: Any, *arguments: Any) -> Any:
        try:
            return call(*arguments)
        finally:
            renewed.set()

    return instead_of({"objects.read": read, "extend_copies": renew})


def copies_ended_by_another() -> Intercept:
    """The copies are ended when their bytes are there."""

    def commit(call: Any, lease: UUID, stored: Any) -> Any:
        queries: Queries = call.args[0]
        queries.fail_copies(lease, [FailedCopy(copy.intent_id, "ended", uploaded=False) for copy in stored])
        return call(lease, stored)

    return instead_of({"commit_copies": commit})


def said_to_be_missing(point: str) -> Callable[[], Intercept]:
    """A backend says of one object that it is not there."""

    def around() -> Intercept:
        said: list[str] = []

        def answer(call: Any, key: str) -> Any:
            found = call(key)
            if said or key == OWNER_KEY:
                return found
            said.append(key)
            return None

        return instead_of({point: answer})

    return around


def other_bytes() -> Intercept:
    """A backend always gives other bytes for one object, the first that is read."""
    spoilt: list[str] = []

    def read(call: Any, key: str) -> Any:
        if not spoilt and key != OWNER_KEY:
            spoilt.append(key)
        return Reading(3, iter([b"abc"])) if key in spoilt else call(key)

    return instead_of({"objects.read": read})


def without_some() -> Intercept:
    """A backend has lost some objects, the first that it lists."""
    lost: list[str] = []

    def listed(call: Any, *after: str) -> Any:
        found = list(call(*after))
        if not lost:
            lost.extend(each.key for each in found[:5])
        return iter([each for each in found if each.key not in lost])

    def find(call: Any, keys: Sequence[str]) -> Any:
        return {key: found for key, found in call(keys).items() if key not in lost}

    return instead_of({"objects.list": listed, "objects.find": find})


def look(app: App, errand: Errand) -> None:
    """All that an operator asks, by commands that change nothing."""
    with app.asking("operator") as q:
        status.look(q)
        q.jobs(10)
        q.estimate_drain()
        q.plan_page(None, START, 10, ())
        q.count_dlq(ANY)
        q.dlq_newest(ANY, 10)
        q.dlq_entry(1)
        q.policies()
        q.plan_policy("notes")
        q.lifecycle_rules()
        q.plan_lifecycle_rule("aged")
        q.policy_batch("notes")
        q.why(errand.code)
        q.objects_of_subject(errand.code)
        q.diagnoses()
        q.live_pastes(["no such content"])
        q.expiry_lag()
        q.runs_by_minute()
        q.waiting_deletions()
        q.dlq_causes(10)
        q.blocked_causes()
        q.wanted_copies()
        q.bad_copies()
        q.sole_bad_copies(10)
        q.copy_progress()
        q.coverage()
        q.draining_backends(10)
        q.callable_functions()
        q.audit(None, 10)
        q.login()
        q.may_use_queue()
        q.queue_schema()
        q.sees_other_sessions()
        q.owner_sees_other_sessions()
        q.oldest_transaction()
        q.ownership_problems()
        q.count_left_behind()
        q.unfinished_work(app.worker)
        q.harmful_settings()
        q.usage(None)
        q.refresh_state()
        q.webhooks()
        q.backend_remains("default")
        q.copies_detail("no such content")
        q.plan_moves(10)
    app.cache.present([errand.code])
    app.verify(repair=True)


def operate(app: App, _: Errand) -> None:
    """All that an operator orders; an earlier one that was killed may have left prune off, or a policy."""
    policy = f"visits-{secrets.token_hex(8)}"
    with app.asking("operator") as q:
        q.enable_service("prune", None)
        q.pause("prune", timedelta(hours=1), "for a test")
        q.resume("prune", None)
        q.reschedule("prune", "1 hour", None)
        q.run_now("prune", None)
        q.disable_service("prune", None)
        q.enable_service("prune", None)
        q.retry_dlq(ANY, "for a test")
        q.write_off_dlq(replace(ANY, cause="no such cause"), "for a test", free_names=False)
        q.add_retention_policy(policy, "public.notes", "written_at", "10 years", 10, "@hourly", False)
        q.enable_policy(policy)
        q.disable_policy(policy)
        q.remove_policy(policy)
        q.add_lifecycle_rule(policy, "visit-", None, None, 30)
        q.enable_lifecycle_rule(policy)
        q.disable_lifecycle_rule(policy)
        q.remove_lifecycle_rule(policy)
        spare = f"spare-{secrets.token_hex(8)}"
        q.register_backend(spare, 1000)
        q.set_backend_state(spare, "draining", "for a test")
        q.remove_backend(spare, "for a test")
        q.unblock(None, "for a test")
        for backend in app.buckets:
            q.set_backend_state(backend, "active", "for a test")
    notify(app)


def notify(app: App) -> None:
    """What an operator orders about webhooks; an earlier one that was killed may have left one."""
    name = f"hook-{secrets.token_hex(8)}"
    with app.asking("operator") as q:
        q.add_webhook(name, "https://hooks.example.com/", ["webhook.disabled"], "HOOK")
        q.rotate_webhook_secret(name, "NEXT_HOOK", keep_old=True)
        q.disable_webhook(name, "for a test")
        q.enable_webhook(name)
        tested = q.webhook_to_test(name)
        q.replay_deliveries("told", Replay(dlq_only=True), 10)
        q.remove_webhook(name)
    assert tested is not None
    app.webhooks.request(*tested)


def compare(app: App, _: Errand) -> None:
    """What the comparison of buckets and rows says to PostgreSQL, of objects that do not exist."""
    nobody = f"no such object {secrets.token_hex(8)}"
    with app.asking("operator") as q:
        q.set_untracked("default", "report", "for a test")
        q.integrity()
        q.untracked_summary(DAY)
        q.untracked_objects("default", DAY, "", 10)
        q.retire_untracked("default", [nobody], DAY)
        q.finish_untracked(10)
        q.import_object("default", nobody, "a" * 64, 10)
        q.suspect_missing(nobody, "default", nobody)
        q.suspects_due("default", None, 10)
        q.delete_suspects("default", [nobody])
        q.record_digest_sample(0, 0)
        q.copies_to_scrub(nobody)
        q.record_put_upload(uuid4(), nobody)
        with suppress(ClaimLost):
            q.record_settled(Pass("default", uuid4(), "settling", "", "report"), nobody)


def drain_unmarked(app: App, _: Errand) -> None:
    """The first of all drains beside these buckets."""
    for bucket in app.buckets.values():
        bucket.delete([OWNER_KEY])
    app.drain()


def take_over(app: App, _: Errand) -> None:
    """What an operator does on a clone of the disks that is to have the buckets from now on."""
    with app.asking("operator") as q:
        q.renew_installation("for a test")
    for backend in app.buckets:
        app.ownership.take_over(backend, "its original", "for a test")


def use(app: App, _: Errand) -> None:
    """Count requests, as stores in folders do not, and tell of them."""
    for kind in Kind:
        app.meter.count("default", kind, 10, 20)
    app.usage.tell()
    app.meter.count("cold", Kind.READ, 0, 20)
    app.usage.tell()


def put(app: App, errand: Errand) -> None:
    app.store().put(errand.data, DAY, errand.code)


def put_by_a_task(app: App, errand: Errand) -> None:
    with store_on_loop(app) as store:
        store.put(errand.data, DAY, errand.code)


def ended_by_another() -> Intercept:
    """The first intent of a put is ended before its bytes are there."""
    ended: list[Intent] = []

    def begun(call: Any, *arguments: Any) -> Intent:
        intent: Intent = call(*arguments)
        if not ended:
            ended.append(intent)
            queries: Queries = call.args[0]
            queries.abort_put(intent.intent_id, uploaded=False)
        return intent

    return instead_of({"begin_put": begun})


def get(app: App, errand: Errand) -> None:
    paste = app.store().get(errand.code)
    assert paste is not None
    assert paste.data == errand.data


def delete(app: App, errand: Errand) -> None:
    app.store().delete(errand.code)


def extend(app: App, errand: Errand) -> None:
    assert app.store().extend(errand.code, 2 * DAY)


def lost(point: str, nth: int = 1) -> tuple[ProcessFault, ...]:
    return (ProcessFault("lost", point, nth=nth),)


def busy(point: str, times: int) -> tuple[ProcessFault, ...]:
    return (ProcessFault("busy", point, times=times),)


JOBS: dict[str, Job] = {
    "drain": Job(drain),
    "drain whose claim is not answered": Job(drain, lost("claim_expired")),
    "drain that gets no locks": Job(drain, busy("drop_batch", 3)),
    "direct drain": Job(drain, around=directly),
    "direct drain whose reap is not answered": Job(drain, lost("reap_batch"), around=directly),
    "direct drain that gets no locks": Job(drain, busy("reap_batch", 3), around=directly),
    "drain of keys that are not known yet": Job(drain, around=keys_not_known_yet),
    "drain without cache": Job(drain, lost("cache.forget")),
    "drain without backend": Job(drain, lost("objects.delete")),
    "slot": Job(in_worker(lambda in_process: in_process.drain_slot(0))),
    "slot that drains directly": Job(in_worker(lambda in_process: in_process.drain_slot(0)), around=directly),
    "slot that is throttled": Job(
        in_worker(lambda in_process: in_process.drain_slot(0)), around=throttled_once
    ),
    "slot that a pause ends": Job(
        in_worker(lambda in_process: in_process.drain_slot(0)), around=paused_at_once
    ),
    "slot that fails": Job(in_worker(lambda in_process: in_process.drain_slot(0)), busy("adopt_batch", 3)),
    **{service.name: Job(serve(service.name)) for service in ALL if service.name != "drain"},
    "replicator": Job(serve("replicator"), copies=True),
    "rebalancer": Job(serve("rebalancer"), copies=True),
    "replicator on one server": Job(serve("replicator"), copies=True),
    "replicator that drains": Job(serve("replicator"), copies=True),
    "replicator for long": Job(serve("replicator"), around=copied_for_long, copies=True),
    "replicator without source": Job(serve("replicator"), lost("objects.read"), copies=True),
    "replicator without destination": Job(serve("replicator"), lost("objects.write"), copies=True),
    "replicator that is too late": Job(
        serve("replicator"), around=copies_ended_by_another, copies=True, may_be_killed=False
    ),
    "over_replication that misses a copy": Job(
        serve("over_replication"), around=said_to_be_missing("objects.head"), copies=True
    ),
    "pending_reaper of copies": Job(serve("pending_reaper"), copies=True),
    "scrubber that reads other bytes": Job(serve("scrubber"), around=other_bytes, copies=True),
    "reconciler that misses copies": Job(serve("reconciler"), around=without_some, copies=True),
    "reconciler that deletes": Job(serve("reconciler")),
    "reconciler that imports": Job(serve("reconciler")),
    "prune beside another": Job(prune_beside_another),
    "prune for long": Job(prune_for_long),
    "pending_reaper without backend": Job(serve("pending_reaper"), lost("objects.digest")),
    "schedule": Job(in_worker(schedule)),
    "purge": Job(in_worker(lambda in_process: in_process.purge("notes"))),
    "look": Job(look),
    "operate": Job(operate),
    "compare": Job(compare),
    "start": Job(start),
    "drain of unmarked buckets": Job(drain_unmarked),
    "take-over": Job(take_over),
    "use": Job(use),
    "put": Job(put, makes=True),
    "put by a task": Job(put_by_a_task, makes=True, on_a_loop=True),
    "put of known content": Job(put, makes=True),
    "put whose upload is not answered": Job(put, lost("objects.put"), makes=True),
    "put that is too late": Job(put, around=ended_by_another, makes=True, may_be_killed=False),
    "get": Job(get),
    "get of cached": Job(get),
    "get without its best copy": Job(get, lost("objects.get")),
    "get of copied that misses a copy": Job(get, around=said_to_be_missing("objects.get")),
    "delete": Job(delete, ends=True),
    "extend": Job(extend, extends=True),
}
# What no job does: it speaks past all points.
STRAY = Job(lambda app, _: app.connect("stray").execute("select 2"))


def find(name: str) -> Job:
    return STRAY if name == "stray" else JOBS[name]


def main(errand: Errand) -> None:
    """Run the errand; ends with 0, with SAID_NO, by a signal, or with an error that must not be."""
    silence_logs()
    job = find(errand.job)
    plan = FaultPlan((*job.faults, *errand.faults))
    if errand.report is None:
        _run(errand, job, plan)
        return
    strays = StrayStatements(plan)
    try:
        _run(errand, job, strays)
    finally:
        told = Passage(dict(plan.passed), sorted(strays.found))
        Path(errand.report).write_text(json.dumps(asdict(told)))


def _run(errand: Errand, job: Job, around: Intercept) -> None:
    around = nested(job.around(), around) if job.around else around
    around = beside_a_loop(around) if job.on_a_loop else around
    try:
        with errand.wiring.app(around=around) as app:
            job.act(app, errand)
    except ReaperError as error:
        print(f"{errand.job}: {error.message}", file=sys.stderr)
        sys.exit(SAID_NO)
