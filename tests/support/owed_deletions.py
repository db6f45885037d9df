"""Words in which tests speak of owed deletions: queue, lease and settle them, compare the accounts."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from tests.support.paste_fixtures import Connection, Worker, value

QUEUE = """
with queued as (
    insert into reaper.cleanup_queue
           (backend, object_key, size_bytes, queued_at, next_attempt, passes_left)
    select %(backend)s, %(key)s || lpad(i::text, 6, '0'), %(size)s,
           reaper.clock(), reaper.clock() + %(due)s::interval, %(passes)s
      from generate_series(1, %(count)s) as i
    returning object_key, size_bytes
), noted as (
    insert into reaper.byte_deltas (backend, orphan_bytes)
    select %(backend)s, coalesce(sum(q.size_bytes), 0) from queued q
)
select q.object_key from queued q order by q.object_key
"""
ORPHANS = "select coalesce(sum(orphan_bytes), 0) from reaper.byte_deltas where %s in (backend, 'all')"
OWED = """
select coalesce(sum(o.size_bytes), 0)
  from (select backend, size_bytes from reaper.cleanup_queue
        union all
        select backend, size_bytes from reaper.cleanup_dlq) as o
 where %s in (o.backend, 'all')
"""
# A name that nobody can use again, of a content that is known.
NAMED = """
update reaper.cleanup_dlq set content_hash = 'hash 1', object_key = 'ha/hash 1/' || repeat('0', 32)
 where object_key = %s
"""
OPEN = """
insert into reaper.circuits (backend, state, changed_at, retry_at, last_error)
values (%s, 'open', reaper.clock(), reaper.clock(), 'away')
    on conflict (backend) do update set state = 'open', retry_at = reaper.clock()
"""


def register(db: Connection, *backends: str) -> None:
    for backend in backends:
        db.execute("select reaper.register_backend(%s)", [backend])


def queue(
    db: Connection,
    backend: str = "default",
    count: int = 1,
    *,
    key: str = "k",
    size: int | None = 10,
    due: str = "0",
    passes: int = 1,
) -> list[str]:
    """Owed objects, in the queue and in the account; their keys."""
    register(db, backend)
    values = {"backend": backend, "count": count, "key": key, "size": size, "due": due, "passes": passes}
    return [row[0] for row in db.execute(QUEUE, values)]


def lease(worker: Worker, limit: int = 1000, *more: Any) -> tuple[Any, list[tuple[str, str]]]:
    """The token, and the backend and key of each object; (None, []) where nothing is due."""
    rows = worker.call("claim_cleanup", limit, *more)
    return (rows[0].lease if rows else None), sorted((row.backend, row.object_key) for row in rows)


def shares(objects: Iterable[tuple[str, str]]) -> dict[str, int]:
    """How many objects of each backend."""
    found: dict[str, int] = {}
    for backend, _ in objects:
        found[backend] = found.get(backend, 0) + 1
    return found


def failures(objects: Iterable[tuple[str, str]], error: str = "InternalError", **verdict: bool) -> list[Any]:
    return [{"backend": b, "object_key": key, "error": error, **verdict} for b, key in objects]


def settle(worker: Worker, token: Any, failed: Sequence[Any] | None = ()) -> int:
    """How many are gone; without `failed` all of them."""
    report = None if failed is None else json.dumps(list(failed))
    return int(worker.call("finish_cleanup", token, report)[0][0])


def open_circuit(db: Connection, backend: str) -> None:
    db.execute(OPEN, [backend])


def orphans(db: Connection, backend: str = "all") -> int:
    """What the account says; it must be what is owed, at any instant."""
    said = int(value(db, ORPHANS, backend))
    assert said == int(value(db, OWED, backend)), "the account is wrong"
    return said


def name(db: Connection, object_key: str) -> str:
    """Make a dead letter one of content "hash 1", under a random key; the key."""
    db.execute(NAMED, [object_key])
    return "ha/hash 1/" + "0" * 32


def bury(
    db: Connection,
    worker: Worker,
    backend: str,
    count: int = 1,
    *,
    error: str = "AccessDenied: not yours",
    **more: Any,
) -> None:
    """Objects whose deletion was tried and given up."""
    queue(db, backend, count, **more)
    while (claimed := lease(worker, 10_000, backend))[1]:
        settle(worker, claimed[0], failures(claimed[1], error, permanent=True))
