"""The composition root: what a command, a worker or an application works with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reaper import config
from reaper.app.adapters import Adapters
from reaper.concurrency import Stop, for_each
from reaper.db.pool import Pool
from reaper.db.pooler import require_session
from reaper.db.reconnecting_session import Session
from reaper.db.retry import RetryPolicy
from reaper.errors import ConfigError, ReaperError, Unreachable
from reaper.expiry.batch_return import return_given_up
from reaper.expiry.deletion_retries import Retries
from reaper.expiry.drain_report import DrainReport
from reaper.expiry.held_batches import BatchLimit, LeftBehind
from reaper.expiry.key_check import KeyCheck
from reaper.expiry.lane import Drained, Lane, run_lanes
from reaper.expiry.rate import Rate
from reaper.expiry.settler import Settler
from reaper.expiry.side_effects import SideEffects
from reaper.expiry.throttle import Despite, Throttle
from reaper.expiry.wait_for_standby import Standby
from reaper.migrate import check_schema
from reaper.model import Unfinished
from reaper.ops.service_phase import require_no_pause
from reaper.ops.verify import Verifier, Watch, unwatched
from reaper.ops.verify_report import Report
from reaper.queries import Ask, Queries
from reaper.queries.status import Health
from reaper.services import ALL, drain
from reaper.services.base import Context, Service
from reaper.storage.probes import Prober
from reaper.store.calls import BlockingCalls, Calls
from reaper.store.get import Reader
from reaper.store.pastes import Pastes
from reaper.store.put import Writer
from reaper.store.store import Store
from reaper.worker.dispatcher import Dispatcher
from reaper.worker.health import HealthServer, ProcessHealth
from reaper.worker.heartbeat import EVERY, Heartbeat
from reaper.worker.lane_pool import LanePool
from reaper.worker.options import WorkerOptions
from reaper.worker.state_watch import StateWatch
from reaper.worker.work_runner import Runner

if TYPE_CHECKING:
    from reaper.store.async_store import AsyncStore
    from reaper.worker.tasks import Runtime

DRAIN = drain.SERVICE.name


class App(Adapters):
    """Everything that a command needs, made of the settings when it is first asked for."""

    # The drain.

    @cached_property
    def side_effects(self) -> SideEffects:
        """What is done outside PostgreSQL."""
        return self.parts.side_effects or SideEffects(self.stores, self.cache, self.telemetry)

    @cached_property
    def standby(self) -> Standby:
        """What this process knows of the standbys."""
        return Standby(self.telemetry)

    @cached_property
    def settler(self) -> Settler:
        """Settles the batches of all lanes: a moment for each, so one connection is enough."""
        session = self.parts.settle_session or self.session(self.parts.settle_slot)
        return Settler(self.worker, session, self.side_effects, self.standby, self.held, self.telemetry)

    @cached_property
    def retries(self) -> Retries:
        """Tries deletions again that failed before."""
        return Retries(self.side_effects, self.standby, self.telemetry)

    @cached_property
    def rate(self) -> Rate:
        """How fast this process may be, over all its lanes."""
        return Rate(self.settings.rows_per_second, self.settings.batch_size)

    @cached_property
    def key_check(self) -> KeyCheck:
        """Finds out whether objects lie where the binding says."""
        return KeyCheck(self.stores, self.telemetry)

    def lane(self, session: Session[Queries], stop: Stop, limit: BatchLimit | None = None) -> Lane:
        """One thread's way through the backlog."""
        return Lane(
            worker=self.worker,
            session=session,
            settler=self.settler,
            retries=self.retries,
            lock=self.claim_lock,
            telemetry=self.telemetry,
            stop=stop,
            limit=limit or BatchLimit(None),
            rate=self.rate,
            buckets=self.bucket_guard,
            look_for_objects=self.key_check.look,
        )

    def drain(
        self, workers: int = 1, max_batches: int | None = None, despite_pause: bool = False
    ) -> DrainReport:
        """Drain with so many lanes until nothing is due, the limit is reached, or a signal says stop.

        ServicePaused while the drain is paused; a pause that begins meanwhile ends it before the next claim.
        """
        limit = BatchLimit(max_batches)
        despite = Despite(off=True, pause=despite_pause)
        with ExitStack() as opened:
            sessions = [opened.enter_context(self.open_session(f"drain:{n}")) for n in range(workers)]
            probing = opened.enter_context(self.open_session("probe:0"))
            if not despite_pause:
                require_no_pause(probing.call, DRAIN)
            throttle = Throttle(probing.call, self.worker, self.telemetry, self.rate)
            lanes = [
                replace(
                    self.lane(session, self.stop, limit),
                    gate=lambda s: throttle.passes(DRAIN, s, despite),
                    may_retry=lambda service: throttle.may_retry(service, despite),
                )
                for session in sessions
            ]
            with self.heartbeat():
                # Where no worker runs, no other process finds out that a backend is back.
                Prober(probing.call, self.stores).tick()
                drained = run_lanes(lanes, self.stop)
        return DrainReport.of(drained, self.telemetry.batches, throttle.pause)

    def left_behind(self) -> LeftBehind | None:
        """What an error kept from a drain, or a signal that stopped it, if anything: the next one does it."""
        why = "a signal stopped the drain" if self.stop.is_set() else self.telemetry.batch_error
        if why is None:
            return None
        with self.asking("check") as q:
            rows = q.count_left_behind()
        return LeftBehind(rows, why) if rows else None

    def unfinished(self) -> Unfinished | None:
        """What is not done although nothing is left to claim; None where PostgreSQL does not say."""
        with suppress(ReaperError), self.asking("check") as q:
            return q.unfinished_work(self.worker)
        return None

    # The worker.

    @cached_property
    def heartbeat_session(self) -> Session[Queries]:
        """A connection of its own, so that slow work does not silence the process."""
        return self.session("heartbeat:0")

    def heartbeat(self, every: float = EVERY, *, takes_jobs: bool = False) -> Heartbeat:
        """The heartbeat of this process."""
        ask = self.heartbeat_session.call

        def after_beat() -> None:
            return_given_up(self.held, ask, self.telemetry)
            self._probe_redis()

        return Heartbeat(ask, self.worker, self.telemetry, every, after_beat, takes_jobs=takes_jobs)

    def _probe_redis(self) -> None:
        """Without work for it, nobody else would notice that Redis is away."""
        if self._redis is not None and self.parts.cache is None:
            self._redis.probe()

    @cached_property
    def job_session(self) -> Session[Queries]:
        """For the small questions of the jobs, which share it."""
        return self.session("jobs:0")

    def dispatcher(self) -> Dispatcher:
        """Queues what is due."""
        return Dispatcher(self.job_session.call, self.telemetry)

    def runner(self, slots: int, services: Iterable[Service] = ALL) -> Runner:
        """Runs what jobs ask for."""
        ask = self.job_session.call
        return Runner(
            worker=self.worker,
            ask=ask,
            bind=self.bind,
            connect=self.connect,
            open_session=self.open_session,
            make_context=self.context,
            lanes=LanePool(self.lane(self.session(f"drain:{n}"), self.stop) for n in range(slots)),
            throttle=Throttle(ask, self.worker, self.telemetry, self.rate),
            telemetry=self.telemetry,
            stop=self.stop,
            services={s.name: s.where(has_redis=self.settings.redis_url is not None) for s in services},
        )

    def runner_by_hand(self, slots: int = 1, despite_pause: bool = False) -> Runner:
        """A runner for a command: where no worker ever ran, the schedule does not know the services yet."""
        runner = replace(self.runner(slots), despite=Despite(off=True, pause=despite_pause))
        self.dispatcher().register(runner.services.values())
        self.job_session.call(lambda q: q.sync_services())
        return runner

    def context(self, ask: Ask, stop: Stop, budget: float, drain: Callable[[], Drained]) -> Context:
        """What one run of a service works with."""
        return Context(
            ask=ask,
            stores=self.stores,
            cache=self.cache,
            telemetry=self.telemetry,
            stop=stop,
            budget=budget,
            settings=self.settings,
            retries=self.retries,
            webhooks=lambda: self.webhooks,
            adopt=lambda: self.settler.adopt(ask, stop),
            drain=drain,
            look_for_objects=lambda: self.key_check.look(ask),
            usage=self.usage.asking(ask),
        )

    def work(self, options: WorkerOptions, services: Iterable[Service] = ALL) -> None:
        """Run jobs until a signal asks for the end."""
        from reaper.worker import tasks
        from reaper.worker.process import WorkerProcess

        require_session(self.settings.dsn)
        runtime = self.runtime(options.slots, services)
        connector = tasks.connector(
            self.settings.dsn, self._queue_schema(), self.telemetry.notification_ignored
        )
        jobs = tasks.make_app(connector, lambda: runtime)
        # Not by a guest: what each process of `procrastinate worker --one-shot` queues is left to the next.
        runtime.dispatcher.start(runtime.runner.services.values())
        with runtime.heartbeat as heartbeat:
            health = ProcessHealth(lambda: heartbeat.age, self._ask_health)
            process = WorkerProcess(jobs, options, self.stop, health, self.telemetry)
            with (
                self.state_watch() if options.health_port is not None else nullcontext(),
                HealthServer(options.health_port, health, self.telemetry.registry, options.health_address),
            ):
                process.run()

    def state_watch(self) -> StateWatch:
        """Keeps the state gauges of this process young."""
        return StateWatch(self._health_session.call, self.telemetry)

    @contextmanager
    def metrics_written_to(self, path: Path | None) -> Iterator[None]:
        """Keep all metrics in a file while the block runs, if there is one."""
        if path is None:
            yield
            return
        with self.telemetry.written_to(path), self.state_watch():
            yield

    def runtime(self, slots: int, services: Iterable[Service] = ALL) -> Runtime:
        """What the tasks of a worker work with; its heart beats when it is entered."""
        from reaper.worker.tasks import Runtime

        self._require_queue()
        runner, dispatcher = self.runner(slots, services), self.dispatcher()
        dispatcher.register(runner.services.values())
        return Runtime(dispatcher, runner, self.heartbeat(takes_jobs=True))

    def _ask_health(self) -> Health:
        """The verdict, for who asks whether this worker is ready; that is worth no second try."""
        return self._health_session.call(lambda q: q.health())

    @cached_property
    def _health_session(self) -> Session[Queries]:
        return self.impatient_session("health:0")

    def impatient_session(self, slot: str, custom_plans: bool = False) -> Session[Queries]:
        """For who would rather hear that there is no answer than wait for one.

        With `custom_plans` every question is planned for its own values: what is asked about one paste, again
        and again over one connection, could get a plan for any paste, which reads whole tables.
        """
        connect = partial(self._connect_lazily, slot, custom_plans)
        session = Session(connect, self.bind, retry=RetryPolicy(patience=0.0))
        self._open.callback(session.close)
        return session

    def _queue_schema(self) -> str:
        """Where the jobs are: PostgreSQL knows, because its functions queue them there."""
        schema, told = self.job_session.call(lambda q: q.queue_schema()), self.settings.queue_schema
        if told not in (None, schema):
            raise ConfigError(
                f"REAPER_QUEUE_SCHEMA is {told}, but the database queues jobs in schema {schema}",
                "Run reaper migrate with the same variable, or unset it here.",
            )
        return schema

    def _require_queue(self) -> None:
        self._queue_schema()
        if not self.job_session.call(lambda q: q.may_use_queue()):
            user = self.job_session.call(lambda q: q.login()).user
            raise ConfigError(
                f"login {user} may not use the job queue, which a worker needs",
                f"Run: grant reaper_worker to {user}",
            )

    # For applications and operators.

    def store(self) -> Store:
        """What an application puts its pastes into and gets them from."""
        pool = Pool(self.settings.dsn, self.settings.store_connections, self.bind)
        calls = BlockingCalls(self._open.enter_context(pool))
        return Store(self._pastes(calls, calls))

    @asynccontextmanager
    async def async_store(self) -> AsyncIterator[AsyncStore]:
        """The same on an event loop. It ends when its threads have: what they send is not broken off."""
        from reaper.db.async_pool import AsyncPool
        from reaper.store.async_calls import AsyncCalls
        from reaper.store.async_store import AsyncStore

        connections = self.settings.store_connections
        objects = ThreadPoolExecutor(self.settings.max_concurrent_requests, "reaper-store")
        cache = ThreadPoolExecutor(connections, "reaper-cache")
        try:
            async with AsyncPool(self.settings.dsn, connections, self.bind_awaited) as pool:
                calls = AsyncCalls(pool, objects)
                yield AsyncStore(self._pastes(calls, AsyncCalls(pool, cache)), calls)
        finally:
            await asyncio.shield(asyncio.to_thread(_end, objects, cache))

    def _pastes(self, calls: Calls, cache_calls: Calls) -> Pastes:
        return Pastes(
            calls=calls,
            cache_calls=cache_calls,
            writer=Writer(calls, self.stores),
            reader=Reader(calls, self.stores, self.settings.check_hashes, telemetry=self.telemetry),
            cache=self.paste_cache,
            largest_cached=self.settings.cache_max_bytes,
        )

    def verify(self, repair: bool = False, watch: Watch = unwatched) -> Report:
        """Compare database, buckets and cache."""
        with self.asking("verify:0") as q:
            verifier = Verifier(
                q,
                self.buckets,
                self.cache,
                # With text of its own around the code, no other program's keys look like ours.
                names_are_ours=self.settings.cache_key != "{short_code}",
                watch=watch,
            )
            return verifier.run(repair)

    def count_due(self) -> int:
        """How many rows a drain would find now."""
        with self.asking("check") as q:
            return q.count_due()

    def check(self, register: bool = True, compare_owners: bool = True) -> None:
        """Refuse to start where work would fail: an older schema, no bucket, wrong credentials.

        One backend that does not answer is accepted while another answers. The backends are then registered.
        A bucket of another installation is accepted, too: what is there can be read. Comparing the owners
        marks a bucket that has none.
        """
        with self.connect("check") as connection:
            check_schema(connection)
            answering = self._check_buckets()
            if register:
                for name, backend in self.settings.backends.items():
                    q = self.bind(connection)
                    q.register_backend(name, backend.quota)
                    q.register_limits(
                        name, backend.monthly_requests, backend.monthly_ingress, backend.monthly_egress
                    )
                if compare_owners and self.parts.stores is None:
                    for_each(answering, self._compare_owner)

    def _check_buckets(self) -> list[str]:
        """The backends that answer."""
        silent = {name: error for name, error in for_each(self.buckets, self._silence).items() if error}
        if len(silent) == len(self.buckets):
            raise next(iter(silent.values()))
        for name, error in silent.items():
            self.circuits.failed(name, error.message)
            self.telemetry.backend_unreachable_at_start(name, error.message)
        return [name for name in self.buckets if name not in silent]

    def _compare_owner(self, name: str) -> None:
        """Find out at the start whose a bucket is, for operators to see; who changes anything asks again."""
        with suppress(ReaperError):
            self.ownership.require(name)

    def _silence(self, name: str) -> Unreachable | None:
        """Why a backend does not answer; what it refuses is raised."""
        try:
            self.buckets[name].check()
        except Unreachable as error:
            return error
        return None


@contextmanager
def open_store(**given: Any) -> Iterator[Store]:
    """The store of an application, for as long as the block runs; one is enough for all threads of a process.

    Settings come from REAPER_* variables and reaper.toml; `given` ones, such as `database_url`, go before.
    """
    with App(config.load_all("database_url", config.BACKENDS, **given)) as app:
        app.check(register=False)
        yield app.store()


@asynccontextmanager
async def open_async_store(**given: Any) -> AsyncIterator[AsyncStore]:
    """The store of an application on an event loop; one is enough for all tasks of a process.

    Settings as those of `open_store`. The loop is not blocked while it opens and closes.
    """
    app = App(config.load_all("database_url", config.BACKENDS, **given))
    try:
        await asyncio.to_thread(app.check, register=False)
        async with app.async_store() as store:
            yield store
    finally:
        await asyncio.shield(asyncio.to_thread(app.close))


def _end(*executors: Executor) -> None:
    """Wait for what is under way; what has not begun is not begun."""
    for executor in executors:
        executor.shutdown(cancel_futures=True)
