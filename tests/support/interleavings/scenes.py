"""What the interleavings of reaper share: start states, steps, and what must be true at each moment."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from psycopg.rows import tuple_row

from tests.support.cloned_databases import EMPTY
from tests.support.interleavings.actors import Connection, Memory, Step
from tests.support.interleavings.explorer import Actor, Exploration, Run, explore, sql
from tests.support.interleavings.schedule_runner import Connect

Judge = Callable[[Connection, Run], Iterable[str]]

RESET = "select rows_reset, batches_reset, batches_orphaned from reaper.reset_stuck()"
ADOPT = "select batch_id as adopted from reaper.adopt_batch('adopter')"
# Deletions are logged, to be compared with what is written down of them. Waits last as long as they must.
# A row's xmax is the number of a transaction, or of several, whose members are only then to be had.
PREPARE = """
    create table public.deleted_pastes (short_code text not null, by_reaper boolean not null);
    create table public.deleted_content (content_hash text not null);
    create function public.log_paste() returns trigger language plpgsql as $$
    begin
        insert into public.deleted_pastes values (old.short_code, current_user = 'reaper_owner');
        return null;
    end $$;
    create function public.log_content() returns trigger language plpgsql as $$
    begin
        insert into public.deleted_content values (old.content_hash);
        return null;
    end $$;
    create trigger log after delete on public.pastes for each row execute function public.log_paste();
    create trigger log after delete on public.content for each row execute function public.log_content();
    create function public.lockers(p_xmax xid) returns setof xid language plpgsql as $$
    begin
        return next p_xmax;
        begin
            return query select m.xid from pg_get_multixact_members(p_xmax) as m;
        exception when others then
            return;
        end;
    end $$;
    grant insert on public.deleted_pastes, public.deleted_content to reaper_owner;
    alter function reaper.drop_references(uuid) set lock_timeout = 0;
    alter function reaper_internal.claim_ownerless(integer, timestamptz) set lock_timeout = 0;
    alter function reaper.reap_expired(integer, text, timestamptz, text) set lock_timeout = 0;
    alter function reaper.finish_batch(uuid, jsonb) set lock_timeout = 0;
    alter function reaper.reset_stuck(interval) set lock_timeout = 0;
    alter function reaper.lease_service(text, text) set lock_timeout = 0;
    alter function reaper.extend_service_lease(text, uuid) set lock_timeout = 0;
    alter function reaper.return_service_lease(text, uuid) set lock_timeout = 0;
    alter function reaper.begin_put(text, text, bigint, timestamptz) set lock_timeout = 0;
    alter function reaper.commit_put(uuid, boolean) set lock_timeout = 0;
    alter function reaper.abort_put(uuid, boolean) set lock_timeout = 0;
    alter function reaper.finish_intent(uuid, uuid, boolean, bigint, text) set lock_timeout = 0;
    alter function reaper.collect_unreferenced(integer, interval) set lock_timeout = 0;
    alter function reaper.delete_paste(text) set lock_timeout = 0;
    alter function reaper.extend_paste(text, timestamptz) set lock_timeout = 0;
    update reaper.settings set clock_may_move = true;
"""
CLEAN = f"""
    update reaper.settings set clock_offset = '0' where clock_offset <> '0';
    {EMPTY}
    delete from public.deleted_pastes;
    delete from public.deleted_content;
"""
COPY = """
    with copied as (
        insert into reaper.object_locations (content_hash, backend, object_key, size_bytes, created_at)
        select content_hash, 'default', coalesce(object_key, content_hash), size_bytes, now()
          from public.content where content_hash = any (%s)
        returning size_bytes
    )
    insert into reaper.byte_deltas (backend, used_bytes) select 'default', size_bytes from copied
"""
VIOLATIONS = """
    select format('%s: %s (%s)', invariant, subject, detail) from reaper.check_invariants()
    union all
    select format('ref_count of %s is %s', content_hash, ref_count) from public.content where ref_count < 0
    union all
    select format('%s rows were deleted, %s releases are written down', deleted, released)
      from (select (select count(*) from public.deleted_pastes where by_reaper) as deleted,
                   (select coalesce(sum(cardinality(short_codes)) filter (where state = 'RELEASED'), 0)
                      from reaper.batches)
                 + (select coalesce(sum(rows_deleted), 0) from reaper.runs) as released) as c
     where deleted <> released
    union all
    select format('%s contents died, %s of their objects are owed or gone', died, known)
      from (select (select count(*) from public.deleted_content) as died,
                   (select coalesce(sum(cardinality(object_keys)), 0) from reaper.batches)
                 + (select coalesce(sum(objects_deleted + objects_failed), 0) from reaper.runs) as known) as c
     where died <> known
    union all
    select format('%s is blocked: %s', short_code, message) from reaper.blocked
"""
LEFT = """
    select format('%s is still there', short_code) from public.pastes where expires_at <= reaper.clock()
    union all
    select format('batch %s is still %s', batch_id, state) from reaper.batches
"""


@dataclass(frozen=True)
class StartState:
    """A start state: due pastes (code: hash) in order of expiry, live ones, batches of so many rows.

    `begun` are puts under way (code: hash), known as `put_<code>`; `leased` to the pending reaper by `lease`.
    `unnamed` are contents that no paste names, stored long ago; contents in `copied` have a copy on default.
    """

    due: Mapping[str, str] = field(default_factory=dict)
    live: Mapping[str, str] = field(default_factory=dict)
    claimed: Mapping[str, int] = field(default_factory=dict)
    released: tuple[str, ...] = ()
    orphaned: bool = False
    # Claimed batches whose rows a drop left: marked, and held by no worker.
    left: tuple[str, ...] = ()
    legacy: bool = False
    later: str = "0"
    counts: Mapping[str, int] = field(default_factory=dict)
    begun: Mapping[str, str] = field(default_factory=dict)
    leased: bool = False
    quota: int | None = None
    unnamed: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()

    def reset(self, conn: Connection) -> dict[str, Any]:
        """Make it so; the batches' tokens are known by the batches' names."""
        conn.execute(CLEAN)
        self._fill(conn)
        memory = {name: self._claim(conn, name, size) for name, size in self.claimed.items()}
        for name in self.released:
            conn.execute("select reaper.drop_references(%s)", [memory[name]])
        if self.orphaned:
            conn.execute("update reaper.batches set worker = null where state = 'RELEASED'")
        for name in self.left:
            conn.execute("update reaper.batches set worker = null where batch_id = %s", [memory[name]])
        memory |= self._begin(conn)
        conn.execute("update reaper.settings set clock_offset = %s::interval", [self.later])
        return memory

    def _fill(self, conn: Connection) -> None:
        codes, hashes = [*self.due, *self.live], [*self.due.values(), *self.live.values()]
        due = [code in self.due for code in codes]
        refs = {of: self.counts.get(of, hashes.count(of)) for of in hashes}
        conn.execute(
            "insert into public.content (content_hash, object_key, ref_count, size_bytes)"
            " select h, case when %s then null else h || '/first' end, r, 10"
            " from unnest(%s::text[], %s::bigint[]) as c (h, r)",
            [self.legacy, list(refs), list(refs.values())],
        )
        conn.execute(
            "insert into public.pastes (short_code, content_hash, expires_at)"
            " select code, of, case when due then now() - interval '1 hour' + n * interval '1 second'"
            " else now() + interval '1 year' end"
            " from unnest(%s::text[], %s::text[], %s::bool[]) with ordinality as p (code, of, due, n)",
            [codes, hashes, due],
        )
        conn.execute(
            "insert into public.content (content_hash, object_key, size_bytes, created_at)"
            " select h, h || '/first', 10, '2020-01-01' from unnest(%s::text[]) as h",
            [list(self.unnamed)],
        )
        conn.execute(COPY, [list(self.copied)])

    def _begin(self, conn: Connection) -> dict[str, Any]:
        conn.execute("update reaper.backend_list set quota = %s", [self.quota])
        begin = "select intent_id from reaper.begin_put(%s, %s, 10)"
        memory = {f"put_{code}": values(conn, begin, code, of)[0] for code, of in self.begun.items()}
        if self.leased:
            memory["lease"] = uuid4()
            conn.execute("update reaper.put_intents set lease = %s", [memory["lease"]])
        return memory

    def _claim(self, conn: Connection, name: str, size: int) -> Any:
        cursor = conn.cursor(row_factory=tuple_row)
        row = cursor.execute("select batch_id from reaper.claim_expired(%s, %s)", [size, name]).fetchone()
        assert row is not None
        return row[0]


class ExploredDatabase:
    """A database whose deletions are logged and whose clock can be moved; reports what was explored in it."""

    def __init__(self, conn: Connection, connect: Connect, counts: Counter[str]) -> None:
        conn.execute(PREPARE)
        self.conn, self.connect, self._counts = conn, connect, counts

    def count(self, what: str) -> None:
        """Report something else that was seen."""
        self._counts[what] += 1

    def explored(self, result: Exploration) -> int:
        """The number of schedules, which is also reported."""
        self._counts["schedules"] += len(result.runs)
        print(f"{len(result.runs)} schedules")
        return len(result.runs)


def interleave(
    database: ExploredDatabase,
    start: StartState,
    actors: Mapping[str, Actor],
    judge: Judge = lambda _conn, _run: (),
    *,
    only_at_end: bool = False,
) -> Exploration:
    """Run every order; the invariants hold after each step, and in the end all settles.

    `only_at_end` is for who takes tables away meanwhile: a look at them would wait, or find them missing.
    """

    def at_end(conn: Connection, run: Run) -> list[str]:
        return [*settle(conn), *judge(conn, run)]

    check = (lambda _conn: ()) if only_at_end else violations
    return explore(database.connect, actors, reset=start.reset, check=check, at_end=at_end)


def violations(conn: Connection) -> list[str]:
    """All that must never be true of committed state."""
    return values(conn, VIOLATIONS)


def settle(conn: Connection) -> list[str]:
    """Do what a watchdog, a drain and an adopter would do; tell what is left or wrong then."""
    conn.execute("select reaper.reset_stuck('0')")
    conn.execute("call reaper.drain()")
    while ids := values(conn, "select batch_id from reaper.adopt_batch('settler')"):
        conn.execute("select reaper.finish_batch(%s, '[]')", ids)
    return values(conn, LEFT) + violations(conn)


def values(conn: Connection, query: str, *params: object) -> list[Any]:
    """The first column of a query."""
    return [row[0] for row in conn.cursor(row_factory=tuple_row).execute(query, params or None)]


def codes(conn: Connection) -> set[str]:
    """The pastes that are there."""
    return set(values(conn, "select short_code from public.pastes"))


def begin(text: str) -> Step:
    """Begin a transaction with this statement; BEGIN alone touches nothing and need not be interleaved."""
    step = sql(text)

    def execute(conn: Connection, memory: Memory) -> Any:
        conn.execute("begin")
        return step.action(conn, memory)

    return Step(f"begin; {text}", execute)


def claim(worker: str, limit: int) -> str:
    """The statement of a claim."""
    return f"select batch_id, claimed from reaper.claim_expired({limit}, '{worker}')"


def drop(batch: str = "batch_id") -> str:
    """The statement of a drop; the token is in the memory under the batch's name."""
    return f"select object_key from reaper.drop_references(%({batch})s)"


def finish(batch: str = "batch_id", failed: str = "'[]'") -> str:
    """The statement that settles a batch."""
    return f"select rows_deleted from reaper.finish_batch(%({batch})s, {failed})"


def dropper(batch: str, failed: str = "'[]'") -> Actor:
    """A worker that holds a claimed batch."""
    return Actor(begin(drop(batch)), "commit", finish(batch, failed))


def committed(run: Run, name: str) -> bool:
    """Say whether all steps of an actor, of which the last is its commit, succeeded."""
    ended = [
        event.outcome for event in run.events if event.outcome and event.label.rstrip("0123456789") == name
    ]
    return all(outcome.sqlstate is None for outcome in ended)


def has_expired(code: str) -> Judge:
    """The judgement that this paste is gone when all is settled."""
    return lambda conn, _run: [f"{code} is still there"] if code in codes(conn) else []
