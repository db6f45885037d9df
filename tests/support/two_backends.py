"""A world with two backends, which can be cut off one by one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.s3_double.served_bucket import ServedBucket, buckets_behind_proxies
from tests.support.s3_double.server import ScriptedS3
from tests.support.tcp_proxy import Proxy
from tests.support.worker_world import WorkerWorld

PUT = """
with begun as materialized (
    select b.*
      from generate_series(1, %s) as i
     cross join lateral reaper.begin_put(
        %s || i, encode(sha256((%s || i)::bytea), 'hex'), 10, reaper.clock() + interval '1 hour') as b
)
select c.object_key from begun as b cross join lateral reaper.commit_put(b.intent_id, true) as c
"""
ACCOUNTS = "select bytes_used, orphan_bytes, reserved_bytes from reaper.backends where name = %s"


@contextmanager
def two_backends(
    dsn: str, redis_url: str, server: ScriptedS3, folder: Path, *names: str
) -> Iterator["TwoBackends"]:
    """A world with backends of these names, known to the database."""
    with (
        buckets_behind_proxies(server, *names) as buckets,
        TwoBackends(dsn, redis_url, {**buckets}, folder) as world,
    ):
        for name in names:
            world.sql("select reaper.register_backend(%s)", name)
        yield world


@dataclass
class TwoBackends(WorkerWorld):
    """Two buckets of one server, each behind a proxy of its own."""

    def _proxy(self, backend: str) -> Proxy:
        bucket = self.backends[backend]
        assert isinstance(bucket, ServedBucket)
        assert bucket.proxy is not None
        return bucket.proxy

    def cut(self, backend: str) -> None:
        """From now on nobody answers there."""
        self._proxy(backend).cut()

    def mend(self, backend: str) -> None:
        """It answers again."""
        self._proxy(backend).mend()

    def only(self, backend: str) -> None:
        """New objects go there and nowhere else."""
        for name in self.backends:
            state = "active" if name == backend else "readonly"
            self.sql("select reaper.set_backend_state(%s, %s, 'for a test')", name, state)

    def fill(self, backend: str, count: int, code: str = "paste") -> None:
        """Pastes of an hour on one backend, through the doors."""
        self.only(backend)
        code = f"{code}-{backend}-"
        self.put([key for (key,) in self.sql(PUT, count, code, code)], backend)

    def circuit(self, backend: str) -> str:
        """What all processes together know of a backend."""
        return str(self.value("select circuit from reaper.backends where name = %s", backend))

    def judge(self) -> None:
        """As everywhere, nothing is owed, and the accounts are those of the buckets."""
        super().judge()
        assert self.sql("select backend, object_key, last_error from reaper.cleanup_queue") == []
        for name in self.backends:
            assert self.sql(ACCOUNTS, name) == [(10 * len(self.keys(name)), 0, 0)]
