"""Words in which tests speak of pastes: make, claim, drop, finish them, move the clock, see what is left."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import namedtuple_row

Connection = psycopg.Connection[Any]
Connect = Callable[..., Connection]

MAKE = """
with wanted as (
    select case when %(count)s = 1 then %(code)s else %(code)s || lpad(i::text, 5, '0') end as short_code, i
      from generate_series(1, %(count)s) as i
), named as (
    select w.short_code, coalesce(%(content)s, w.short_code) as content_hash from wanted w
), stored as (
    insert into content (content_hash, object_key, ref_count, size_bytes)
    select n.content_hash, case when %(own_key)s then 'key of ' || n.content_hash end,
           count(*) * %(refs)s, %(size)s
      from named n group by n.content_hash
        on conflict (content_hash) do update set ref_count = content.ref_count + excluded.ref_count
    returning content_hash
)
insert into pastes (short_code, content_hash, expires_at)
select n.short_code, n.content_hash, reaper.clock() + %(expires)s::interval
  from named n
  join stored s on s.content_hash = n.content_hash
"""

COPY = """
with copied as (
    insert into reaper.object_locations (content_hash, backend, object_key, size_bytes, created_at)
    select c.content_hash, %(backend)s, coalesce(%(key)s, c.object_key, c.content_hash),
           c.size_bytes, reaper.clock()
      from content c
     where c.content_hash = %(content)s
    returning backend, size_bytes
)
insert into reaper.byte_deltas (backend, used_bytes) select backend, size_bytes from copied
"""

NEXT_QUEUE_ID = "select nextval(pg_get_serial_sequence('reaper.cleanup_queue', 'queue_id'))"

# What a hand writes into the queue has bytes behind it, like all the rest.
OWE = """
with owed as (
    insert into reaper.{table} ({columns}) values ({values}) returning backend, size_bytes
)
insert into reaper.byte_deltas (backend, orphan_bytes) select backend, coalesce(size_bytes, 0) from owed
"""

STOPPED = """
create or replace function reaper.clock() returns timestamptz language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$ select timestamptz '{}' + (select s.clock_offset from reaper.settings s) $$
"""

# For tests that use `drain`: what they promise holds whether rows are marked first or released directly.
both_claim_modes = pytest.mark.parametrize("drain", ["mark", "direct"], indirect=True)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "broken_on_purpose: the test leaves check_invariants() with findings")


class Pastes:
    """Makes pastes as an application does, by plain SQL that counts its own references."""

    def __init__(self, db: Connection) -> None:
        self.db = db

    def __call__(
        self, code: str, content: str | None = "same", expires: str | None = "-1 hour", **more: Any
    ) -> str:
        """One paste; `ref=False` forgets the count, `own_key=False` leaves the object under its bare hash."""
        self.many(code, 1, content, expires, **more)
        return code

    def many(
        self,
        code: str,
        count: int,
        content: str | None = None,
        expires: str | None = "-1 hour",
        *,
        ref: bool = True,
        own_key: bool = True,
        size: int | None = 10,
    ) -> None:
        """Pastes code00001, code00002, …, each with its own content unless one is named."""
        self.db.execute(
            MAKE,
            {
                "code": code,
                "count": count,
                "content": content,
                "own_key": own_key,
                "refs": int(ref),
                "size": size,
                "expires": expires,
            },
        )


class Copies:
    """Puts copies of contents on backends, with their bytes in the account, as the doors do."""

    def __init__(self, db: Connection) -> None:
        self.db = db

    def __call__(self, content: str, *backends: str, key: str | None = None) -> None:
        """One copy on each backend, under the content's own key unless another is named."""
        for backend in backends:
            self.db.execute("select reaper.register_backend(%s)", [backend])
            self.db.execute(COPY, {"content": content, "backend": backend, "key": key})


class Worker:
    """One name at one connection, that calls the functions as a worker process does."""

    def __init__(self, connection: Connection, name: str = "worker-1") -> None:
        self.connection = connection
        self.name = name

    def call(self, function: str, *arguments: Any) -> list[Any]:
        places = ", ".join(["%s"] * len(arguments))
        with self.connection.cursor(row_factory=namedtuple_row) as cursor:
            return cursor.execute(f"select * from reaper.{function}({places})", arguments).fetchall()

    def claim(self, limit: int = 1000) -> UUID:
        """The batch of a claim that must find something."""
        batch = self.try_claim(limit)
        assert batch is not None, "nothing was due"
        return batch

    def try_claim(self, limit: int = 1000) -> UUID | None:
        claimed = self.call("claim_expired", limit, self.name)
        return claimed[0].batch_id if claimed else None

    def drop(self, batch: UUID) -> list[Any]:
        return self.call("drop_references", batch)

    def finish(self, batch: UUID, failed: Sequence[dict[str, Any]] | None = ()) -> Any:
        """The run's figures; without `failed` all side effects succeeded, with None none was tried."""
        return self.call("finish_batch", batch, None if failed is None else json.dumps(list(failed)))[0]

    def reap(self, limit: int = 1000) -> UUID:
        """The batch of a direct release that must find something."""
        batch = self.try_reap(limit)
        assert batch is not None, "nothing was due"
        return batch

    def try_reap(self, limit: int = 1000) -> UUID | None:
        reaped = self.call("reap_expired", limit, self.name)
        return reaped[0].batch_id if reaped else None

    def adopt(self) -> Any:
        adopted = self.call("adopt_batch", self.name)
        return adopted[0] if adopted else None

    def heartbeat(self) -> None:
        self.call("heartbeat", self.name)

    def drain(self, limit: int = 1000, claim_mode: str = "mark") -> set[str]:
        """Adopt, then claim, drop and finish until nothing is due; the object keys to be deleted."""
        take = {"mark": self.try_claim, "direct": self.try_reap}[claim_mode]
        keys: set[str] = set()
        while adopted := self.adopt():
            keys |= set(adopted.object_keys)
            self.finish(adopted.batch_id)
        while batch := take(limit):
            # Of a batch that was released directly it returns the objects again.
            keys |= {gone.object_key for gone in self.drop(batch)}
            self.finish(batch)
        return keys


class Clock:
    """Moves the time that reaper decides by."""

    def __init__(self, db: Connection) -> None:
        self.db = db
        self._stopped = False

    def advance(self, interval: str) -> None:
        """Later by so much; a stopped clock needs no leave, and so is no reason for attention."""
        self.db.execute(
            "update reaper.settings"
            " set clock_may_move = clock_may_move or %s, clock_offset = clock_offset + %s::interval",
            [not self._stopped, interval],
        )

    def stop(self) -> None:
        """From here on it is always the same instant, to the microsecond."""
        now = value(self.db, "select reaper.clock() - clock_offset from reaper.settings")
        self.db.execute(STOPPED.format(now.isoformat()))
        self._stopped = True


@contextmanager
def refused(sqlstate: str, message: str | None = None) -> Iterator[pytest.ExceptionInfo[psycopg.Error]]:
    """Expects PostgreSQL to refuse with this SQLSTATE."""
    with pytest.raises(psycopg.Error, match=message) as caught:
        yield caught
    assert caught.value.sqlstate == sqlstate, caught.value


def column(db: Connection, query: str, *arguments: Any) -> list[Any]:
    """The first column of every row."""
    return [row[0] for row in db.execute(query, arguments)]


def value(db: Connection, query: str, *arguments: Any) -> Any:
    """The one value that the query returns; None when it has no row."""
    row = db.execute(query, arguments).fetchone()
    return row[0] if row else None


def record(db: Connection, query: str, *arguments: Any) -> Any:
    """The only row, with its columns as attributes."""
    with db.cursor(row_factory=namedtuple_row) as cursor:
        rows = cursor.execute(query, arguments).fetchall()
    assert len(rows) == 1, rows
    return rows[0]


@contextmanager
def unbound(db: Connection) -> Iterator[None]:
    """As an application alters its own columns: the views are dropped meanwhile."""
    with db.transaction():
        db.execute("select reaper.unbind()")
        yield
        db.execute("select reaper.bind()")


def owe(db: Connection, object_key: str, table: str = "cleanup_queue", **more: Any) -> None:
    """Writes down an owed deletion, in the queue or among the dead letters, and keeps the accounts."""
    now = value(db, "select reaper.clock()")
    row = {"backend": "default", "object_key": object_key, "size_bytes": 10, "queued_at": now}
    if table == "cleanup_queue":
        row |= {"next_attempt": now}
    else:
        row |= {"queue_id": value(db, NEXT_QUEUE_ID), "attempts": 1, "last_error": "x", "buried_at": now}
    row |= more
    places = ", ".join(f"%({name})s" for name in row)
    db.execute("select reaper.register_backend(%s)", [row["backend"]])
    db.execute(OWE.format(table=table, columns=", ".join(row), values=places), row)


def accounts(db: Connection) -> dict[str, tuple[int, int, int]]:
    """Used, orphan and reserved bytes of every backend on which there are any."""
    rows = db.execute("select name, bytes_used, orphan_bytes, reserved_bytes from reaper.backends")
    return {
        name: (used, orphan, reserved) for name, used, orphan, reserved in rows if used or orphan or reserved
    }


def codes(db: Connection) -> set[str]:
    return set(column(db, "select short_code from pastes"))


def marked(db: Connection) -> set[str]:
    """The codes that somebody has claimed."""
    return set(column(db, "select short_code from pastes where deletion_status = 'DELETION_IN_PROGRESS'"))


def contents(db: Connection) -> set[str]:
    return set(column(db, "select content_hash from content"))


def refs(db: Connection, content: str) -> int | None:
    """The ref_count of a content; None when it is gone."""
    found: int | None = value(db, "select ref_count from content where content_hash = %s", content)
    return found


def batch_codes(db: Connection, batch: UUID) -> set[str]:
    return set(column(db, "select unnest(short_codes) from reaper.batches where batch_id = %s", batch))


def refusals(db: Connection) -> int:
    """How many zombies were refused so far."""
    return int(value(db, "select case when is_called then last_value else 0 end from reaper.refusals"))


def findings(db: Connection) -> list[tuple[Any, ...]]:
    return db.execute("select * from reaper.check_invariants()").fetchall()


@pytest.fixture
def checked_db(request: pytest.FixtureRequest, db: Connection, connect: Connect) -> Iterator[Connection]:
    """A database in which check_invariants() must find nothing after the test, unless it says otherwise."""
    yield db
    looker = connect()
    # A test that failed may still hold locks: say so instead of waiting for them for ever.
    looker.execute("set lock_timeout = '30s'")
    found = findings(looker)
    if request.node.get_closest_marker("broken_on_purpose"):
        assert found != [], "this test says that it breaks an invariant, and does not"
    else:
        assert found == []


@pytest.fixture
def invariants(checked_db: Connection) -> Callable[[], list[tuple[Any, ...]]]:
    """What check_invariants() finds now."""
    return lambda: findings(checked_db)


@pytest.fixture
def paste(checked_db: Connection) -> Pastes:
    return Pastes(checked_db)


@pytest.fixture
def copy(checked_db: Connection) -> Copies:
    """Puts copies of contents on backends."""
    return Copies(checked_db)


@pytest.fixture
def clock(db: Connection) -> Clock:
    return Clock(db)


@pytest.fixture
def worker(checked_db: Connection, connect: Connect) -> Callable[[str], Worker]:
    """Further workers, each with a connection of its own."""
    return lambda name: Worker(connect(dbname=checked_db.info.dbname), name)


@pytest.fixture
def me(checked_db: Connection) -> Worker:
    """The worker at the test's own connection."""
    return Worker(checked_db)


@pytest.fixture
def claim(me: Worker) -> Callable[..., UUID]:
    return me.claim


@pytest.fixture
def drop(me: Worker) -> Callable[[UUID], list[Any]]:
    return me.drop


@pytest.fixture
def finish(me: Worker) -> Callable[..., Any]:
    return me.finish


@pytest.fixture
def drain(request: pytest.FixtureRequest, me: Worker) -> Callable[..., set[str]]:
    """Drains by marking rows first, unless the test is one for `both_claim_modes`."""
    return partial(me.drain, claim_mode=getattr(request, "param", "mark"))


@pytest.fixture
def reset_stuck(me: Worker) -> Callable[..., Any]:
    """The watchdog: reset_stuck() with its default age, or with the one given."""
    return lambda *age: me.call("reset_stuck", *age)[0]
