"""A world with two backends, `default` and `cold`, whose wires can be cut one by one."""

from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from moto.s3.models import s3_backends

from tests.support import forked_writer
from tests.support.tcp_wire import Wire
from tests.support.worker_world import Works
from tests.support.world import ACCOUNT, contents, forks

NAMES = ("default", "cold")
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


@dataclass
class Pair(Works):
    """Two buckets of one server, each at the end of a wire of its own."""

    folder: Path = Path()
    wires: dict[str, Wire] = field(default_factory=dict)

    @property
    def variables(self) -> dict[str, str]:
        """As with one backend, but from a file."""
        path = self.folder / "reaper.toml"
        path.write_text("".join(self._table(name) for name in NAMES))
        kept = {name: v for name, v in super().variables.items() if not name.startswith("REAPER_S3_")}
        return {**kept, "REAPER_CONFIG": str(path)}

    def _table(self, name: str) -> str:
        address = f"http://127.0.0.1:{self.wires[name].port}"
        return f'[backends.{name}]\nbucket = "{self.bucket_of(name)}"\nendpoint_url = "{address}"\n'

    def bucket_of(self, backend: str) -> str:
        return f"{self.bucket}-{backend}"

    def set_up(self) -> None:
        """Make the buckets and the backends known."""
        for name in NAMES:
            s3_backends[ACCOUNT]["aws"].create_bucket(self.bucket_of(name), "us-east-1")
            self.sql("select reaper.register_backend(%s)", name)

    def cut(self, backend: str) -> None:
        """From now on nobody answers there."""
        self.wires[backend].cut = True
        self.wires[backend].break_all()

    def mend(self, backend: str) -> None:
        self.wires[backend].cut = False

    def only(self, backend: str) -> None:
        """New objects go there and nowhere else."""
        for name in NAMES:
            state = "active" if name == backend else "readonly"
            self.sql("select reaper.set_backend_state(%s, %s, 'for a test')", name, state)

    def fill(self, backend: str, count: int, code: str = "paste") -> None:
        """Pastes of an hour on one backend, through the doors."""
        self.only(backend)
        code = f"{code}-{backend}-"
        for (key,) in self.sql(PUT, count, code, code):
            s3_backends[ACCOUNT]["aws"].put_object(self.bucket_of(backend), key, b"0123456789")

    def stored(self, backend: str) -> set[str]:
        """What really lies in the bucket of a backend."""
        return set(s3_backends[ACCOUNT]["aws"].buckets[self.bucket_of(backend)].keys)

    def buckets(self) -> dict[str, dict[str, bytes]]:
        """All that lies on each backend."""
        return {name: contents(self.bucket_of(name)) for name in NAMES}

    def located(self, backend: str) -> set[str]:
        """What lies there as PostgreSQL knows it."""
        query = "select object_key from reaper.object_locations where backend = %s"
        return {row[0] for row in self.sql(query, backend)}

    def circuit(self, backend: str) -> str:
        return str(self.value("select circuit from reaper.backends where name = %s", backend))

    def judge(self) -> None:
        """Nothing due is left, nothing is owed, and every bucket has exactly what its rows say."""
        assert self.sql("select * from reaper.check_invariants()") == []
        assert self.value("select reaper.count_due()") == 0
        assert self.sql("select * from reaper.in_flight") == []
        assert self.sql("select backend, object_key, last_error from reaper.cleanup_queue") == []
        for name in NAMES:
            assert self.stored(name) == self.located(name)
            assert self.sql(ACCOUNTS, name) == [(10 * len(self.stored(name)), 0, 0)]

    def creator(self, code: str, data: bytes, killed: str) -> ForkServerProcess:
        """A process that puts a paste and is killed on its way, before its upload or before its commit."""
        process = forks.Process(target=forked_writer.create, args=(self.variables, code, data, killed))
        process.start()
        return process
