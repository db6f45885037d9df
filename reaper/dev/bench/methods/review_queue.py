"""The shape of GitLab's registry: a trigger queues what may be unused, a worker reviews it one by one.

Rows are deleted in batches; for each one a trigger writes its content into a queue. The worker takes one
entry at a time, looks whether a paste still refers to the content, and deletes it if none does. There are no
counts to keep, and none to be wrong: `ref_count` stays as it was. Written from that idea alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from reaper import db
from reaper.db.connection import Connection
from reaper.dev.bench.method import Go, Needs, Promise, Work
from reaper.dev.bench.server_addresses import Addresses

BATCH = 1000
_QUEUE = (
    """
    create table if not exists public.review_queue (
        content_hash text collate "C" primary key,
        review_after timestamptz not null default clock_timestamp()
    )
    """,
    "create index if not exists review_queue_order on public.review_queue (review_after)",
    """
    create or replace function public.queue_review() returns trigger language plpgsql as $$
    begin
        -- An entry that is under review is waited for: its review may have seen this row.
        insert into public.review_queue (content_hash) values (old.content_hash)
            on conflict (content_hash) do update set review_after = excluded.review_after;
        return null;
    end;
    $$
    """,
    """
    create or replace trigger queue_review after delete on public.pastes
        for each row execute function public.queue_review()
    """,
)
_EXPIRE = """
delete from public.pastes
 where short_code in (select short_code from public.pastes
                       where expires_at <= now() order by expires_at limit %s for update skip locked)
"""
_NEXT = "select content_hash from public.review_queue order by review_after limit 1 for update skip locked"
# Held before the look: a new paste of this content would otherwise come between look and deletion.
_HOLD = "select from public.content where content_hash = %s for update"
_USED = "select exists (select from public.pastes where content_hash = %s)"
_DELETE_CONTENT = "delete from public.content where content_hash = %s"
_REVIEWED = "delete from public.review_queue where content_hash = %s"


@dataclass(frozen=True)
class ReviewQueue:
    """Deletes its sample of rows, then reviews all that they referred to."""

    sample: int | None = 2000
    name: str = "review queue, as GitLab's registry"
    promise: Promise = Promise.UNCOUNTED
    needs: Needs = Needs.DATABASE

    @contextmanager
    def ready(self, addresses: Addresses) -> Iterator[Go]:
        """An empty queue, and the trigger that fills it."""
        with db.connect(addresses.dsn, "bench:review") as connection:
            for statement in _QUEUE:
                connection.execute(statement)
            yield lambda: Work(_run(connection, self.sample or addresses.workload.due))


def _run(connection: Connection, wanted: int) -> int:
    expired = _expire(connection, wanted)
    while _review_one(connection):
        pass
    return expired


def _expire(connection: Connection, wanted: int) -> int:
    done = 0
    while done < wanted:
        deleted = connection.execute(_EXPIRE, (min(BATCH, wanted - done),)).rowcount
        if not deleted:
            break
        done += deleted
    return done


def _review_one(connection: Connection) -> bool:
    """One entry of the queue, in one transaction; whether there was any."""
    with connection.transaction():
        entry = connection.execute(_NEXT).fetchone()
        if entry is None:
            return False
        connection.execute(_HOLD, entry)
        used = connection.execute(_USED, entry).fetchone()
        if used and not used[0]:
            connection.execute(_DELETE_CONTENT, entry)
        connection.execute(_REVIEWED, entry)
    return True
