"""What the interleavings of direct release share: the reap as a step, and what it must never do."""

from collections.abc import Iterable, Mapping
from typing import Any

from psycopg.rows import tuple_row

from tests.support.interleavings.actors import Action, Connection, Memory, Step
from tests.support.interleavings.explorer import Actor, Exploration, Run, explore
from tests.support.interleavings.scenes import (
    LEFT,
    ExploredDatabase,
    Judge,
    StartState,
    settle,
    values,
    violations,
)

# A due paste that other sessions hold on to.
HELD = "55P03"
DUE = """
    select count(*) from public.pastes
     where expires_at <= reaper.clock() and deletion_status <> 'DELETION_IN_PROGRESS'
       and short_code not in (select short_code from reaper.blocked)
"""
# PostgreSQL does not tell which session holds a row by a subtransaction. So a row is a reap's that cannot be
# locked and that no other session has, while a reap waits and no claim, drop or other reap is under way.
ONLY_REAPS_WAIT = """
    select bool_and(s.query like '%reap_expired%' and cardinality(pg_blocking_pids(s.pid)) > 0)
      from pg_stat_activity s
     where s.datname = current_database() and s.pid <> pg_backend_pid()
       and s.query ~ '(reap_expired|claim_expired|drop_references)' and s.state <> 'idle'
"""
HELD_BY_REAP = """
    with free as materialized (select short_code from public.pastes for update skip locked)
    select format('paste %s is held by a reap that waits', p.short_code)
      from public.pastes p
     where p.short_code not in (select short_code from free)
       and not exists (select from public.lockers(p.xmax) as h (locker)
                         join pg_locks l on l.transactionid = h.locker and l.granted
                         join pg_stat_activity s on s.pid = l.pid and s.query not like '%reap_expired%')
"""


def reap(limit: int = 10) -> Step:
    """Begin a transaction with a reap; how many rows went, and how many are due if it said that none is."""

    def execute(conn: Connection, memory: Memory) -> tuple[int | None, int]:
        conn.execute("begin")
        return reap_once(conn, memory, limit)

    return Step(f"begin; reap {limit}", execute)


def reap_once(conn: Connection, memory: Memory, limit: int = 10) -> tuple[int | None, int]:
    """A reap, in whatever transaction; the batch stays in the memory."""
    cursor = conn.cursor(row_factory=tuple_row)
    query = "select batch_id, released from reaper.reap_expired(%s, %s)"
    row = cursor.execute(query, [limit, f"reaper {conn.info.backend_pid}"]).fetchone()
    memory["batch_id"], released = row or (None, None)
    return released, 0 if row else values(conn, DUE)[0]


def finish_held(conn: Connection, memory: Memory) -> bool:
    """Settle the batch that was reaped or dropped, if there is one."""
    if memory.get("batch_id"):
        conn.execute("select reaper.finish_batch(%(batch_id)s, '[]')", memory)
    return bool(memory.get("batch_id"))


def reaper(limit: int = 10, end: str = "commit") -> Actor:
    """A worker that releases directly, up to its commit."""
    return Actor(reap(limit), end)


def reap_until_nothing(limit: int) -> Action:
    """The loop of a client that knows two calls; it ends when a reap returns nothing."""

    def until_nothing_is_due(conn: Connection, memory: Memory) -> None:
        while reap_once(conn, memory, limit)[0] is not None:
            finish_held(conn, memory)

    return until_nothing_is_due


def paste_locks(conn: Connection) -> list[str]:
    """Pastes that a reap holds while it waits."""
    return values(conn, HELD_BY_REAP) if values(conn, ONLY_REAPS_WAIT)[0] else []


def without_paste_locks(conn: Connection) -> list[str]:
    """All that must never be true, and pastes that a reap holds while it waits."""
    return violations(conn) + paste_locks(conn)


def honest(run: Run) -> list[str]:
    """Reaps that said that nothing is due while something was."""
    told = [outcome.value for outcome in run.outcomes.values()]
    return [f"a reap said that nothing is due, and {value[1]} are" for value in told if _is_wrong(value)]


def _is_wrong(value: Any) -> bool:
    return isinstance(value, tuple) and value[0] is None and value[1] > 0


def beside_reap(
    database: ExploredDatabase,
    start: StartState,
    actors: Mapping[str, Actor],
    judge: Judge = lambda _conn, _run: (),
    *,
    only: str | None = None,
) -> Exploration:
    """Run every order; no paste is held during any wait, "nothing" means nothing, in the end all settles."""

    def at_end(conn: Connection, run: Run) -> list[str]:
        return [*honest(run), *settle(conn), *judge(conn, run)]

    return explore(
        database.connect, actors, reset=start.reset, check=without_paste_locks, at_end=at_end, only=only
    )


def reaped(result: Exploration, label: str = "reaper1") -> set[int | None]:
    """How many rows went, over all orders; None where nothing was due."""
    return {run.outcomes[label].value[0] for run in result.runs if run.outcomes[label].value}


def nothing_is_left(conn: Connection, _run: Run) -> Iterable[str]:
    """Nothing is due, marked or in a batch, without a watchdog."""
    return values(conn, LEFT) + violations(conn)
