"""Was the work done? Speed that leaves rows, references or objects behind does not count."""

from __future__ import annotations

from dataclasses import dataclass

from reaper import db
from reaper.cache.redis.key_names import OURS
from reaper.db.connection import Connection
from reaper.dev.bench.method import Method, Promise
from reaper.dev.bench.server_addresses import Addresses
from reaper.dev.embedded.rclone import Rclone
from reaper.storage.owner_marker import OWN_PREFIX

_ROWS = """
select count(*) filter (where expires_at <= now()),
       count(*) filter (where expires_at > now()),
       count(*) filter (where deletion_status <> 'NOT_EXPIRED')
  from public.pastes
"""
_COUNTS = """
select count(*) filter (where c.ref_count <> coalesce(p.refs, 0)),
       count(*) filter (where p.refs is null),
       count(*)
  from public.content c
  left join (select content_hash, count(*) as refs from public.pastes group by content_hash) as p
       using (content_hash)
"""
_BATCHES = (
    "select count(*), count(*) filter (where state <> 'RELEASED' or worker is not null) from reaper.batches"
)


@dataclass(frozen=True)
class CorrectnessCheck:
    """Looks at what a run left."""

    s3: Rclone

    def problems(self, method: Method, addresses: Addresses, rows: int) -> list[str]:
        """What is not as it should be, in plain words; nothing is as it should be."""
        with db.connect(addresses.dsn, "bench:check") as connection:
            found = [*_about_rows(connection, method, addresses, rows)]
            found += _about_content(connection, method)
            found += _about_batches(connection, method)
            if method.promise is Promise.EVERYTHING:
                found += self._about_objects(connection, addresses)
        return found

    def _about_objects(self, connection: Connection, addresses: Addresses) -> list[str]:
        assert addresses.bucket is not None
        stored = self.s3.count(addresses.bucket.name, leave_out=f"/{OWN_PREFIX}**")
        wanted = _row(connection, _COUNTS)[2]
        cached = _stale_entries(connection, addresses)
        return [
            *([f"{stored} objects for {wanted} contents"] if stored != wanted else []),
            *([f"{cached} cache entries of deleted pastes"] if cached else []),
        ]


def _about_rows(connection: Connection, method: Method, addresses: Addresses, rows: int) -> list[str]:
    due, live, marked = _row(connection, _ROWS)
    expected, lost = addresses.workload.due - rows, addresses.workload.rows - addresses.workload.due - live
    return [
        *([f"{due} rows are still due, not {expected}"] if due != expected else []),
        *([f"{due} rows are still due"] if due and method.sample is None else []),
        *([f"{lost} live pastes are gone"] if lost else []),
        *([f"{marked} rows are still marked"] if marked else []),
    ]


def _about_content(connection: Connection, method: Method) -> list[str]:
    if method.promise is Promise.ROWS:
        return []
    drifted, unnamed, _ = _row(connection, _COUNTS)
    if method.promise is Promise.UNCOUNTED:
        drifted = 0
    return [
        *([f"{drifted} reference counts are wrong"] if drifted else []),
        *([f"{unnamed} contents without a paste are left"] if unnamed else []),
    ]


def _about_batches(connection: Connection, method: Method) -> list[str]:
    batches, odd = _row(connection, _BATCHES)
    wrong = odd if method.promise is Promise.JOURNALLED else batches
    return [f"{wrong} batches are left"] if wrong else []


def _stale_entries(connection: Connection, addresses: Addresses) -> int:
    import redis

    assert addresses.cache_url is not None
    with redis.Redis.from_url(addresses.cache_url, decode_responses=True) as client:
        # What we keep there for ourselves, such as the counts of a process, is no entry of a paste.
        cached = [str(key) for key in client.scan_iter(count=10_000) if not str(key).startswith(OURS)]
    row = connection.execute(
        "select count(*) from unnest(%s::text[]) as c (code)"
        " where not exists (select from public.pastes p where p.short_code = c.code)",
        (cached,),
    ).fetchone()
    return int(row[0]) if row else 0


def _row(connection: Connection, statement: str) -> tuple[int, ...]:
    row = connection.execute(statement).fetchone()
    return tuple(row) if row else ()
