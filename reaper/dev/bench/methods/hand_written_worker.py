"""The design notes that reaper comes from, written down in plain Python as they stand.

A Redis lock around fetch and mark, batches of 1000, one UPDATE per row to decrement, one batch delete in S3,
one pipeline in Redis. It decrements and deletes in separate transactions: a crash between them counts twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from reaper import db
from reaper.db.connection import Connection
from reaper.dev.bench.method import Go, Needs, Promise, Work
from reaper.dev.bench.server_addresses import Addresses

BATCH = 1000
LOCK = "cleanup-lock"
LOCK_SECONDS = 30
WAIT_SECONDS = 0.05
_FETCH = """
select short_code, content_hash from public.pastes
 where expires_at < now() and deletion_status = 'NOT_EXPIRED' limit %s
"""
_MARK = """
update public.pastes set deletion_status = 'DELETION_IN_PROGRESS', deletion_initiated_at = now()
 where short_code = any (%s)
"""
_DECREMENT = "update public.content set ref_count = ref_count - 1 where content_hash = %s"
_UNUSED = (
    "select content_hash, object_key from public.content where content_hash = any (%s) and ref_count = 0"
)
_DELETE_CONTENT = "delete from public.content where content_hash = any (%s)"
_DELETE_PASTES = "delete from public.pastes where short_code = any (%s)"

Delete = Callable[[Sequence[str]], object]


@dataclass(frozen=True)
class HandWrittenWorker:
    """One worker of the design notes; several share the lock."""

    outside: bool = False
    sample: int | None = 20_000

    @property
    def name(self) -> str:
        """How tables and results call it."""
        return "seeds in plain Python, everything" if self.outside else "seeds in plain Python"

    @property
    def promise(self) -> Promise:
        """Without S3 it does the same but for the objects and the cache."""
        return Promise.EVERYTHING if self.outside else Promise.DATABASE

    @property
    def needs(self) -> Needs:
        """The lock is part of it even where nothing outside is deleted."""
        return Needs.EVERYTHING if self.outside else Needs.CACHE

    @contextmanager
    def ready(self, addresses: Addresses) -> Iterator[Go]:
        """A connection to each of the three."""
        import redis

        assert addresses.cache_url is not None
        with ExitStack() as opened:
            connection = opened.enter_context(db.connect(addresses.dsn, "bench:seeds", autocommit=False))
            cache = opened.enter_context(redis.Redis.from_url(addresses.cache_url))
            delete = _bucket(addresses) if self.outside else None
            worker = Worker(connection, cache, delete)
            yield lambda: Work(worker.run(self.sample or addresses.workload.due))


class Worker:
    """One of the workers that run nightly."""

    def __init__(self, connection: Connection, cache: Any, delete_objects: Delete | None) -> None:
        self._connection = connection
        self._cache = cache
        self._delete_objects = delete_objects

    def run(self, wanted: int) -> int:
        """Batch after batch until nothing is found, or enough was done."""
        done = 0
        while done < wanted:
            rows = self._claim()
            if not rows:
                break
            self._process(rows)
            done += len(rows)
        return done

    def _claim(self) -> list[tuple[str, str]]:
        with self._locked():
            rows = self._connection.execute(_FETCH, (BATCH,)).fetchall()
            self._connection.execute(_MARK, ([code for code, _ in rows],))
            self._connection.commit()
        return rows

    def _process(self, rows: list[tuple[str, str]]) -> None:
        codes, hashes = [code for code, _ in rows], [content for _, content in rows]
        # In one order, or two workers deadlock: the notes do not say so.
        for content in sorted(hashes):
            self._connection.execute(_DECREMENT, (content,))
        unused = self._connection.execute(_UNUSED, (hashes,)).fetchall()
        self._connection.commit()
        # Pastes before content, although the notes have it the other way round: the foreign key insists.
        self._connection.execute(_DELETE_PASTES, (codes,))
        if unused:
            if self._delete_objects:
                self._delete_objects([key for _, key in unused])
            self._connection.execute(_DELETE_CONTENT, ([content for content, _ in unused],))
        self._connection.commit()
        if self._delete_objects:
            pipeline = self._cache.pipeline(transaction=False)
            pipeline.delete(*codes)
            pipeline.execute()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        while not self._cache.set(LOCK, "mine", nx=True, ex=LOCK_SECONDS):
            time.sleep(WAIT_SECONDS)
        try:
            yield
        finally:
            self._cache.delete(LOCK)


def _bucket(addresses: Addresses) -> Delete:
    import boto3

    assert addresses.bucket is not None
    client = boto3.client(
        "s3",
        endpoint_url=addresses.bucket.endpoint_url,
        region_name="us-east-1",
        aws_access_key_id=addresses.bucket.access_key,
        aws_secret_access_key=addresses.bucket.secret_key,
    )
    name = addresses.bucket.name

    def delete(keys: Sequence[str]) -> object:
        return client.delete_objects(
            Bucket=name, Delete={"Objects": [{"Key": key} for key in keys], "Quiet": True}
        )

    return delete
