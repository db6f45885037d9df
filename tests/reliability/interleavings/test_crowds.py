"""Actors and orders that nobody thought of: drawn by chance, for as long as there is time."""

from random import Random

import pytest

from tests.support.interleavings.actors import Connection
from tests.support.interleavings.explorer import Actor, Exploration, Run, explore, sql
from tests.support.interleavings.put_scenes import DELETE, EXTEND, PUT, RESOLVE, abort, commit
from tests.support.interleavings.reap_scenes import HELD, finish_held, reap
from tests.support.interleavings.scenes import (
    ADOPT,
    RESET,
    ExploredDatabase,
    StartState,
    begin,
    claim,
    codes,
    committed,
    drop,
    dropper,
    finish,
    settle,
    violations,
)
from tests.support.mutants.mutant import Edit
from tests.support.ordeals import Ordeal

# With this seed so many crowds are enough to meet one that needs the lock.
SEED, CROWDS = 2, 2
# So many orders of one crowd, before another is drawn.
ORDERS = 25
# What a safeguard says to whoever came too late, or found a row held; nobody may be the victim of a deadlock.
REFUSALS = {"RP001", "RP002", "RP003", "RP004", HELD}

DUE = {"a": "h", "b": "g", "c": "h", "d": "i"}
LIVE = {"e": "g", "f": "k"}
STARTS = {
    "at work": StartState(DUE, LIVE, claimed={"one": 2}, begun={"new": "h"}, leased=True),
    "silent": StartState(DUE, LIVE, claimed={"one": 2}, begun={"new": "g"}, leased=True, later="3 hours"),
    "orphaned": StartState(
        DUE, LIVE, claimed={"one": 2}, released=("one",), orphaned=True, begun={"new": "h"}, leased=True
    ),
    "bare names": StartState(DUE, LIVE, claimed={"one": 3}, legacy=True, begun={"new": "h"}, leased=True),
}
ADD = "update public.content set ref_count = ref_count + 1 where content_hash = 'g'"
NAME = "insert into public.pastes (short_code, content_hash, expires_at) values ('z', 'g', 'infinity')"


def worker(name: str) -> Actor:
    """From claim to finish."""
    return Actor(claim(name, 2), begin(drop()), "commit", finish())


ACTORS = {
    "worker": worker("worker"),
    "colleague": worker("colleague"),
    "reaper": Actor(reap(2), "commit", finish_held),
    "cutter": Actor(reap(10), "rollback"),
    "holder": dropper("one"),
    "sceptic": dropper("one", "null"),
    "quitter": Actor(begin("select reaper.return_batch(%(one)s)"), "commit"),
    "victim": Actor(begin(drop("one")), "rollback"),
    "watchdog": Actor(begin(RESET), "commit"),
    "adopter": Actor(begin(ADOPT), "commit", finish("adopted")),
    "writer": Actor(begin(commit("new")), "commit"),
    "optimist": Actor(begin(commit("new", uploaded=False)), "commit"),
    "aborter": Actor(begin(abort("new")), "commit"),
    "finder": Actor(begin(RESOLVE.format(found=True)), "commit"),
    "searcher": Actor(begin(RESOLVE.format(found=False)), "commit"),
    "putter": Actor(begin(PUT.format("h")), "commit"),
    "extender": Actor(begin(EXTEND), "commit"),
    "deleter": Actor(begin(DELETE), "commit"),
    "inserter": Actor(begin(ADD), sql(NAME), "commit"),
}


# The paste that an actor made or kept, if it was told so.
PROMISES = {"extender": "a", "inserter": "z", "writer": "new", "optimist": "new"}


def broken_promises(conn: Connection, run: Run) -> list[str]:
    """Pastes of which somebody was told that they live, and that are not there."""
    told = [name for name in PROMISES if f"{name}1" in run.outcomes and committed(run, name)]
    sure = [name for name in told if name != "extender" or run.outcomes["extender1"].value == [(True,)]]
    return [
        f"{name} was told that {PROMISES[name]} lives" for name in sure if PROMISES[name] not in codes(conn)
    ]


def crowd(database: ExploredDatabase, chance: Random, orders: int) -> Exploration:
    """Three actors in a start, in so many orders; the invariants hold after each step, and all settles."""
    start = STARTS[chance.choice(sorted(STARTS))]
    names = sorted(chance.sample(sorted(ACTORS), 3))
    return explore(
        database.connect,
        {name: ACTORS[name] for name in names},
        reset=start.reset,
        check=violations,
        at_end=lambda conn, run: [*settle(conn), *broken_promises(conn, run)],
        sample=orders,
        seed=chance.randrange(1_000_000),
    )


@pytest.mark.ordeal("interleavings", aim="12,000 schedules", share=5)
def test_three_actors_by_chance_break_nothing_in_any_order(
    database: ExploredDatabase, ordeal: Ordeal
) -> None:
    for _ in ordeal.rounds(short=2):
        result = crowd(database, ordeal.chance, ORDERS)
        ordeal.survived("schedules", len(result.runs))
        result.assert_clean(allow=REFUSALS)


def any_goes_wrong(database: ExploredDatabase, chance: Random, crowds: int) -> bool:
    """Whether one of so many crowds finds an order that does harm."""
    for _ in range(crowds):
        try:
            crowd(database, chance, ORDERS).assert_clean(allow=REFUSALS)
        except AssertionError:
            return True
    return False


@pytest.mark.slow
def test_crowds_find_out_when_drops_do_not_lock_content(database: ExploredDatabase) -> None:
    assert not any_goes_wrong(database, Random(SEED), CROWDS)
    Edit(function="lock_contents", replace="order by c.content_hash for update) as l", by=") as l").load(
        database.conn
    )
    assert any_goes_wrong(database, Random(SEED), CROWDS)
