"""Words in which tests speak of the doors: a writer puts, reads, extends, deletes; accounts show bytes."""

from collections.abc import Callable
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from tests.support.paste_fixtures import Connection, Worker, record, value

TRUTH = """
select coalesce((select sum(size_bytes) from reaper.object_locations where backend = b.name), 0)::bigint,
       (coalesce((select sum(o.size_bytes)
                    from reaper.batches r
                   cross join unnest(r.object_backends, r.object_sizes) as o (backend, size_bytes)
                   where o.backend = b.name), 0)
        + coalesce((select sum(size_bytes) from reaper.cleanup_queue where backend = b.name), 0)
        + coalesce((select sum(size_bytes) from reaper.cleanup_dlq where backend = b.name), 0))::bigint,
       coalesce((select sum(size_bytes) from reaper.put_intents
                  where backend = b.name and reserved), 0)::bigint
  from (select %s::text as name) as b
"""


class Bytes(NamedTuple):
    """What lies on a backend, or is to: of live objects, of objects owed a deletion, of puts under way."""

    used: int = 0
    orphan: int = 0
    reserved: int = 0


class Owed(NamedTuple):
    """A deletion that is owed: of how many bytes, how often, and how many seconds from when it was queued."""

    object_key: str
    size_bytes: int | None
    passes_left: int
    delay: int


class Writer(Worker):
    """An application at its own connection, that calls the doors."""

    def begin(
        self, code: str = "a", content: str = "h", size: int = 10, expires: str | None = "1 day"
    ) -> Any:
        """The intent."""
        return self.call("begin_put", code, content, size, later(self.connection, expires))[0]

    def commit(self, intent: UUID, uploaded: bool = True) -> Any:
        """Where the paste's bytes lie."""
        return self.call("commit_put", intent, uploaded)[0]

    def abort(self, intent: UUID, *uploaded: bool) -> bool:
        ended: bool = self.call("abort_put", intent, *uploaded)[0].abort_put
        return ended

    def put(self, code: str = "a", content: str = "h", size: int = 10, expires: str | None = "1 day") -> Any:
        """From begin to commit, as if the bytes were uploaded where they are required."""
        intent = self.begin(code, content, size, expires)
        return self.commit(intent.intent_id, intent.upload_required)

    def get(self, code: str = "a") -> Any:
        """The readable paste, or None."""
        found = self.call("get_paste", code)
        return found[0] if found else None

    def delete(self, code: str = "a") -> bool:
        deleted: bool = self.call("delete_paste", code)[0].delete_paste
        return deleted

    def extend(self, code: str = "a", expires: str | None = "1 day") -> bool:
        extended: bool = self.call("extend_paste", code, later(self.connection, expires))[0].extend_paste
        return extended


def later(db: Connection, interval: str | None) -> Any:
    """The time that is so far from now; never, without an interval."""
    return value(db, "select reaper.clock() + %s::interval", interval)


def accounts(db: Connection, backend: str = "default") -> Bytes:
    """What the view says."""
    row = record(db, "select * from reaper.backends where name = %s", backend)
    return Bytes(row.bytes_used, row.orphan_bytes, row.reserved_bytes)


def truth(db: Connection, backend: str = "default") -> Bytes:
    """What the rows say that the accounts are about."""
    row = db.execute(TRUTH, [backend]).fetchone()
    assert row is not None
    return Bytes(*row)


def owed(db: Connection) -> list[Owed]:
    """The keys in the cleanup queue, in the order in which they came."""
    rows = db.execute(
        "select object_key, size_bytes, passes_left, extract(epoch from next_attempt - queued_at)::int"
        "  from reaper.cleanup_queue order by queue_id"
    )
    return [Owed(*row) for row in rows]


def intents(db: Connection) -> set[str]:
    """The codes of the puts under way."""
    return {row[0] for row in db.execute("select short_code from reaper.put_intents")}


@pytest.fixture
def writer(checked_db: Connection) -> Writer:
    """The application at the test's own connection."""
    return Writer(checked_db)


@pytest.fixture
def writers(checked_db: Connection, connect: Callable[..., Connection]) -> Callable[..., Writer]:
    """Further applications, each with a connection of its own."""
    return lambda **options: Writer(connect(dbname=checked_db.info.dbname, **options))
