"""The servers of a run, the databases that are loaded once, and fresh copies of them for each method."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

import psycopg
import redis
from psycopg import sql

from reaper import db, services
from reaper.db.connection import Connection
from reaper.dev.bench import bucket_filling, table_filling
from reaper.dev.bench.method import Needs
from reaper.dev.bench.server_addresses import Addresses, Bucket
from reaper.dev.bench.workload import Workload
from reaper.dev.embedded import Postgres, Valkey, directories
from reaper.dev.embedded.rclone import Rclone
from reaper.migrate import migrate

# As a careful DBA would have them: nothing is traded for speed, and no checkpoint falls into one run only.
SETTINGS = {
    "max_wal_size": "16GB",
    "checkpoint_timeout": "1h",
    # Files of the WAL are used again instead of made anew: a long run must not pay more than a short one.
    "min_wal_size": "4GB",
    "track_io_timing": "on",
    "random_page_cost": "1.1",
}
SHOWN = (
    *("server_version", "shared_buffers", "huge_pages_status", "random_page_cost", "autovacuum", "jit"),
    *("fsync", "synchronous_commit", "full_page_writes", "max_wal_size", "checkpoint_timeout"),
)
MIGRATED = "bench_migrated"
CACHED_SHARE = 0.1
_PREWARM = """
with tables (oid) as (values ('public.pastes'::regclass), ('public.content'::regclass))
select sum(pg_prewarm(r.oid))
  from (select t.oid from tables t
        union all
        select i.indexrelid from pg_index i join tables t on t.oid = i.indrelid) as r
"""


class Servers:
    """PostgreSQL, Valkey and S3 for one run; a context manager that leaves nothing behind."""

    postgres: Postgres
    valkey: Valkey
    s3: Rclone

    def __init__(self, pg_bin: Path | None = None, settings: Mapping[str, str] | None = None) -> None:
        self._pg_bin = pg_bin
        self._settings = settings or {}
        self._exits = ExitStack()
        self._templates: dict[Workload, str] = {}
        self._buckets: set[Workload] = set()
        self._copies = 0

    def __enter__(self) -> Self:
        with ExitStack() as starting:
            settings = {**SETTINGS, "shared_buffers": _shared_buffers(), **self._settings}
            self.postgres = starting.enter_context(
                Postgres.start(durable=True, wal_on_disk=True, settings=settings, bin_dir=self._pg_bin)
            )
            self.valkey = starting.enter_context(Valkey.start())
            self.s3 = starting.enter_context(Rclone.start())
            self.admin = starting.enter_context(db.connect(self.postgres.dsn(), "bench:admin"))
            self._make_migrated()
            with _absence_allowed():
                self.admin.execute("create extension pg_walinspect")
            self._exits = starting.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exits.close()

    def settings(self) -> dict[str, str]:
        """The settings of PostgreSQL that a reader of the figures wants to know."""
        rows = self.admin.execute(
            "select name, current_setting(name) from pg_settings where name = any (%s)", (list(SHOWN),)
        ).fetchall()
        return dict(rows)

    def load(self, workload: Workload) -> None:
        """Fill the template of a workload; a second call does nothing."""
        if workload in self._templates:
            return
        name = f"bench_{_word(workload.name)}_{len(self._templates)}"
        self._create(name, MIGRATED)
        with self.connect(name) as connection:
            table_filling.load(connection, workload)
        self._templates[workload] = name

    def forget(self, workload: Workload) -> None:
        """Drop a template that is no longer needed."""
        name = self._templates.pop(workload, None)
        if name:
            self._drop(name)

    @contextmanager
    def copy(self, workload: Workload, needs: Needs = Needs.DATABASE) -> Iterator[Addresses]:
        """A fresh copy of everything that a method gets; gone after the block."""
        self.load(workload)
        self._copies += 1
        name = f"bench_copy_{self._copies}"
        with ExitStack() as copied:
            copied.callback(self._drop, name)
            self._create(name, self._templates[workload])
            self._settle_in(name)
            addresses = Addresses(self.postgres.dsn(name), workload)
            if needs is not Needs.DATABASE:
                addresses = self._with_cache(addresses)
            if needs is Needs.EVERYTHING:
                addresses = self._with_bucket(addresses, copied)
            self._warm_up(name)
            yield addresses

    def _settle_in(self, name: str) -> None:
        """Make the copy an installation of its own: as a copy it would delete nothing in its bucket."""
        with self.connect(name) as connection:
            connection.execute("select reaper.renew_installation('a copy for one run')")

    def connect(self, name: str) -> Connection:
        """A superuser's connection to one of the databases."""
        return db.connect(self.postgres.dsn(name), "bench:admin")

    def _make_migrated(self) -> None:
        self._create(MIGRATED, "template1")
        migrate(self.postgres.dsn(MIGRATED), services=services.ALL)
        with self.connect(MIGRATED) as connection, _absence_allowed():
            connection.execute("create extension pg_prewarm")

    def _with_cache(self, addresses: Addresses) -> Addresses:
        client: Any = redis.Redis.from_url(self.valkey.url)
        with client, db.connect(addresses.dsn, "bench:admin") as connection:
            client.flushall()
            table_filling.fill_cache(connection, client, CACHED_SHARE)
        return replace(addresses, cache_url=self.valkey.url)

    def _with_bucket(self, addresses: Addresses, copied: ExitStack) -> Addresses:
        template = f"template-{_word(addresses.workload.name)}"
        if addresses.workload not in self._buckets:
            self._fill(template, addresses)
            self._buckets.add(addresses.workload)
        name = f"copy-{self._copies}"
        self.s3.copy(template, name)
        copied.callback(self.s3.remove, name)
        credentials = (self.s3.access_key, self.s3.secret_key)
        return replace(addresses, bucket=Bucket(name, self.s3.endpoint_url, *credentials))

    def _fill(self, template: str, addresses: Addresses) -> None:
        with (
            TemporaryDirectory(prefix="reaper-bench-", dir=directories.data_directory()) as directory,
            db.connect(addresses.dsn, "bench:admin") as connection,
        ):
            bucket_filling.write_objects(connection, directory)
            self.s3.fill(template, directory)

    def _warm_up(self, name: str) -> None:
        """Every method begins with the tables in memory and nothing waiting to be written."""
        with self.connect(name) as connection, _absence_allowed():
            connection.execute(_PREWARM)
        self.admin.execute("checkpoint")

    def _create(self, name: str, template: str) -> None:
        # Copied file by file: through the WAL, the copy would still be on its way to disk during the run.
        statement = sql.SQL("create database {} template {} strategy file_copy")
        self.admin.execute(statement.format(sql.Identifier(name), sql.Identifier(template)))

    def _drop(self, name: str) -> None:
        self.admin.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


@contextmanager
def _absence_allowed() -> Iterator[None]:
    """Extensions are not in every installation: then all begin equally cold, and the WAL is not read."""
    try:
        yield
    except (
        psycopg.errors.FeatureNotSupported,
        psycopg.errors.UndefinedFunction,
        psycopg.errors.UndefinedFile,
    ):
        return


def _shared_buffers() -> str:
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    # All tables of the default plan fit: what is read from the system's cache instead costs CPU of its own.
    return f"{min(4096, memory // 6 // 2**20)}MB"


def _word(name: str) -> str:
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")
