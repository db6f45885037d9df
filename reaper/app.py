"""The composition root: the only place that knows which adapter stands behind which port.

Adapters are imported where they are wired: boto3 and redis load more slowly than `reaper status` answers.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from reaper import config, db
from reaper.cache.none import NoCache, NoLock, NoPastes
from reaper.concurrency import Stop, for_each
from reaper.config.backends import Backend
from reaper.config.settings import Settings
from reaper.db.pool import Pool
from reaper.db.session import Session
from reaper.errors import ConfigError, Unreachable
from reaper.expiry.lane import Allowance, Holdings, Lane, run_lanes
from reaper.expiry.rate import Pace
from reaper.expiry.side_effects import SideEffects
from reaper.expiry.standby import Standby
from reaper.expiry.throttle import Throttle
from reaper.expiry.watchdog import Watchdog
from reaper.migrate import check_schema
from reaper.ops.reports import Reports
from reaper.ops.verify import Report, Verifier, Watch, nobody
from reaper.ports import Cache, ClaimLock, ObjectStore, PasteCache
from reaper.queries import Queries
from reaper.services import ALL
from reaper.services.base import Service
from reaper.storage.circuit_breaker import Circuits, GuardedStore
from reaper.storage.probes import Breaker
from reaper.store.get import Reader
from reaper.store.put import Writer
from reaper.store.store import Store
from reaper.telemetry.events import Telemetry
from reaper.worker.health import HealthServer, Vitals
from reaper.worker.heartbeat import Pulse, worker_name
from reaper.worker.runner import Crew, Lanes, Options

if TYPE_CHECKING:
    from reaper.cache.redis.connection import RedisLink
    from reaper.storage.s3.store import S3Options


@dataclass
class App:
    """Everything that a command needs, made of the settings when it is first asked for."""

    settings: Settings
    telemetry: Telemetry = field(default_factory=Telemetry)
    worker: str = field(default_factory=worker_name)
    stop: threading.Event = field(default_factory=threading.Event)
    holdings: Holdings = field(default_factory=Holdings)
    # PostgreSQL has answered this process: from then on its absence is an interruption.
    answered: threading.Event = field(default_factory=threading.Event)
    _open: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def connect(self, slot: str) -> db.Connection:
        """A connection that decides under read committed, whatever the database's default is."""
        connection = db.connect(self.settings.dsn, f"reaper:{slot}")
        with db.translated():
            connection.execute("set default_transaction_isolation = 'read committed'")
        return connection

    def _connect_lazily(self, slot: str) -> db.Connection:
        """A connection whose commits wait for no disk: what a crash undoes is simply done again.

        The commits that something outside follows from make themselves durable: see docs/decisions/0006.
        """
        connection = self.connect(slot)
        with db.translated():
            connection.execute("set synchronous_commit = off")
        return connection

    def session(self, slot: str) -> Session:
        """A connection that comes back by itself; what we then hold without knowing it is let go."""
        return self._open.enter_context(self.open_session(slot))

    @contextmanager
    def open_session(self, slot: str) -> Iterator[Session]:
        """A session that is closed after the block."""
        session = Session(
            lambda: self._connect_lazily(slot),
            lambda q: q.return_unknown_batches(self.worker, self.holdings.known()),
            answered=self.answered,
        )
        try:
            yield session
        finally:
            session.close()

    def check(self, register: bool = True) -> None:
        """Refuse to start where work would fail: an older schema, no bucket, wrong credentials.

        One backend that does not answer is no reason while another does. What is fine is then made known.
        """
        with self.connect("check") as connection:
            check_schema(connection)
            self._check_buckets()
            if register:
                for name, backend in self.settings.backends.items():
                    Queries(connection).register_backend(name, backend.quota)

    def _check_buckets(self) -> None:
        silent = {name: error for name, error in for_each(self.buckets, self._silence).items() if error}
        if len(silent) == len(self.buckets):
            raise next(iter(silent.values()))
        for name, error in silent.items():
            self.circuits.failed(name, error.message)
            self.telemetry.backend_silent(name, error.message)

    def _silence(self, name: str) -> Unreachable | None:
        """Why a backend does not answer; what it refuses is raised."""
        try:
            self.buckets[name].check()
        except Unreachable as error:
            return error
        return None

    @cached_property
    def buckets(self) -> dict[str, ObjectStore]:
        """The backends by name, as they are; all their requests together pass one gate."""
        from reaper.storage.request_gate import AdmissionGate
        from reaper.storage.s3.store import S3Store

        backends = self.settings.backends
        if not backends:
            raise ConfigError("REAPER_S3_BUCKET is not set", "Set it to the bucket that holds the content.")
        gate = AdmissionGate(self.settings.max_concurrent_requests)
        return {
            name: S3Store(b.bucket, b.endpoint_url, self._options(b), gate=gate)
            for name, b in backends.items()
        }

    @cached_property
    def stores(self) -> dict[str, ObjectStore]:
        """The backends by name; those that do not answer are left alone for a while."""
        return {name: GuardedStore(name, bucket, self.circuits) for name, bucket in self.buckets.items()}

    @cached_property
    def circuits(self) -> Circuits:
        """What all processes together know of the backends; it waits for no database."""
        session = Session(lambda: self.connect("circuits:0"), patience=0)
        self._open.callback(session.close)
        return Circuits(session, self.telemetry)

    @cached_property
    def cache(self) -> Cache:
        """The cache; without REAPER_REDIS_URL there is nothing to forget."""
        if self._redis is None:
            return NoCache()
        from reaper.cache.redis.cache import RedisCache

        return RedisCache(self._redis, self.settings.cache_key)

    @cached_property
    def pastes(self) -> PasteCache:
        """The cache as readers use it; without REAPER_REDIS_URL nothing is kept."""
        if self.settings.redis_url is None:
            return NoPastes()
        from reaper.cache.redis.connection import RedisLink
        from reaper.cache.redis.paste_cache import QUICK, RedisPastes

        link = RedisLink(self.settings.redis_url.get_secret_value(), self.telemetry, QUICK)
        self._open.callback(link.close)
        return RedisPastes(link, self.settings.cache_key)

    def store(self) -> Store:
        """What an application puts its pastes into and gets them from."""
        pool = self._open.enter_context(Pool(self.settings.dsn, self.settings.store_connections))
        return Store(
            pool=pool,
            writer=Writer(pool, self.stores),
            reader=Reader(pool, self.stores, self.settings.check_hashes),
            cache=self.pastes,
            largest_cached=self.settings.cache_max_bytes,
        )

    @cached_property
    def claim_lock(self) -> ClaimLock:
        """The lock around the claim; it saves work and protects nothing."""
        if self._redis is None:
            return NoLock()
        from reaper.cache.redis.claim_lock import RedisClaimLock

        return RedisClaimLock(self._redis, self._identity(), self.settings.claim_lock_ttl)

    @cached_property
    def effects(self) -> SideEffects:
        """What is done outside PostgreSQL."""
        return SideEffects(self.stores, self.cache, self.telemetry)

    @cached_property
    def standby(self) -> Standby:
        """What this process knows of the standbys."""
        return Standby(self.telemetry)

    @cached_property
    def pace(self) -> Pace:
        """How fast this process may be, over all its lanes."""
        return Pace(self.settings.rows_per_second)

    @cached_property
    def settling(self) -> Session:
        """Where the lanes of this process settle their batches: a moment for each, so one is enough."""
        return self.session("settle:0")

    def lane(self, session: Session, stop: Stop, allowance: Allowance | None = None) -> Lane:
        """One thread's way through the backlog."""
        return Lane(
            worker=self.worker,
            session=session,
            settling=self.settling,
            effects=self.effects,
            lock=self.claim_lock,
            telemetry=self.telemetry,
            holdings=self.holdings,
            stop=stop,
            standby=self.standby,
            batch_size=self.settings.batch_size,
            pace=self.pace,
            allowance=allowance or Allowance(None),
        )

    def drain(self, workers: int = 1, max_batches: int | None = None) -> None:
        """Drain with so many lanes until nothing is due, the allowance is used up, or somebody says stop."""
        allowance = Allowance(max_batches)
        lanes = [self.lane(self.session(f"drain:{n}"), self.stop, allowance) for n in range(workers)]
        with self.pulse():
            # Where no worker runs, nobody else finds out that a backend is back.
            Breaker(self.session("probe:0"), self.stores).tick()
            run_lanes(lanes, self.stop)

    def watchdog(self) -> Watchdog:
        """Takes back what dead workers hold; its lane adopts and never claims."""
        lane = self.lane(self.session("watchdog:0"), self.stop, Allowance(0))
        return Watchdog(lane, self.telemetry, self.settings.stuck_after)

    def crew(self, slots: int, services: Iterable[Service] = ALL) -> Crew:
        """What the jobs of a worker do."""
        session = self.session("jobs:0")
        return Crew(
            worker=self.worker,
            session=session,
            connect=self.connect,
            open_session=self.open_session,
            make_lane=self.lane,
            lanes=Lanes(self.lane(self.session(f"drain:{n}"), self.stop) for n in range(slots)),
            throttle=Throttle(session, self.worker, self.telemetry),
            telemetry=self.telemetry,
            stop=self.stop,
            stuck_after=self.settings.stuck_after,
            services={service.name: service for service in services},
        )

    def work(self, options: Options, services: Iterable[Service] = ALL) -> None:
        """Run jobs until a signal asks for the end."""
        from reaper.worker import tasks
        from reaper.worker.process import WorkerProcess

        crew = self.crew(options.slots, services)
        crew.register()
        jobs = tasks.make_app(tasks.connector(self.settings.dsn), crew)
        with self.pulse() as pulse:
            vitals = Vitals(lambda: pulse.age)
            process = WorkerProcess(jobs, tasks.remembering(crew), options, self.stop, vitals, self.telemetry)
            with HealthServer(options.health_port, vitals, self.telemetry.registry):
                process.run()

    def count_due(self) -> int:
        """How many rows a drain would find now."""
        with self.connect("check") as connection:
            return Queries(connection).count_due()

    def verify(self, repair: bool = False, watch: Watch = nobody) -> Report:
        """Compare database, buckets and cache."""
        with self.connect("verify:0") as connection:
            verifier = Verifier(
                Reports(connection),
                self.buckets,
                self.cache,
                # With text of its own around the code, no other program's keys look like ours.
                names_are_ours=self.settings.cache_key != "{short_code}",
                watch=watch,
            )
            return verifier.run(repair)

    def pulse(self) -> Pulse:
        """The heartbeat of this process."""
        return Pulse(self.session("pulse:0"), self.worker, self.telemetry)

    @cached_property
    def _redis(self) -> RedisLink | None:
        if self.settings.redis_url is None:
            return None
        from reaper.cache.redis.connection import RedisLink

        return RedisLink(self.settings.redis_url.get_secret_value(), self.telemetry)

    def _options(self, backend: Backend) -> S3Options:
        from reaper.storage.s3.store import S3Options

        return S3Options(
            read_timeout=self.settings.s3_read_timeout.total_seconds(),
            content_md5=backend.content_md5,
            single_deletes=backend.single_deletes,
            profile=backend.profile,
            login=backend.login(self.settings.variables),
        )

    def _identity(self) -> str:
        with self.connect("check") as connection:
            row = connection.execute(
                "select c.system_identifier || '/' || current_database() from pg_control_system() as c"
            ).fetchone()
        return str(row[0]) if row else ""


@contextmanager
def open_store(**given: Any) -> Iterator[Store]:
    """The store of an application, for as long as the block runs; one is enough for all threads of a process.

    Settings come from REAPER_* variables and reaper.toml; `given` ones, such as `database_url`, go before.
    """
    with App(config.load_all("database_url", config.BACKENDS, **given)) as app:
        app.check(register=False)
        yield app.store()
