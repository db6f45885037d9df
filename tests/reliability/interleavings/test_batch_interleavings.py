"""Workers, watchdogs and adopters against each other, in every order of their statements."""

from collections.abc import Callable, Iterable

import pytest

from tests.support.interleavings.actors import Connection, Memory
from tests.support.interleavings.explorer import Actor, Run, explore
from tests.support.interleavings.scenes import (
    ADOPT,
    LEFT,
    RESET,
    ExploredDatabase,
    Judge,
    StartState,
    begin,
    claim,
    drop,
    dropper,
    finish,
    interleave,
    values,
    violations,
)

LOST = {"RP001"}
HANDED_OUT_TWICE = """
    select format('%s is in %s claimed batches', code, count(*))
      from reaper.batches b cross join unnest(b.short_codes) as code
     where b.state = 'CLAIMED'
     group by code
    having count(*) > 1
"""

pytestmark = pytest.mark.ordeal("interleavings", aim="12,000 schedules", share=0)


def claims(run: Run, *workers: str) -> list[int]:
    """How many rows each worker got."""
    got = [run.outcomes[f"{worker}1"].value for worker in workers]
    return [rows[0][1] if rows else 0 for rows in got]


def each_row_is_claimed_once(*workers: str, rows: int) -> Judge:
    def judge(_conn: Connection, run: Run) -> Iterable[str]:
        got = claims(run, *workers)
        return [f"{got} claimed of {rows} rows"] if sum(got) > rows else []

    return judge


def finished_once(batches: int) -> Judge:
    """The judgement that each batch has one line of figures."""

    def judge(conn: Connection, _run: Run) -> Iterable[str]:
        runs = values(conn, "select count(*) from reaper.runs where rows_deleted > 0")[0]
        return [f"{runs} runs for {batches} batches"] if runs != batches else []

    return judge


def test_two_claims_never_get_the_same_row(database: ExploredDatabase) -> None:
    start = StartState(due={"a": "h", "b": "h", "c": "g"})
    actors = {w: Actor(begin(claim(w, 2)), HANDED_OUT_TWICE, "commit") for w in ("one", "two")}
    result = interleave(
        database, start, actors, each_row_is_claimed_once("one", "two", rows=3)
    ).assert_clean()
    assert database.explored(result) == 20
    assert {tuple(claims(run, "one", "two")) for run in result.runs} == {(2, 1), (1, 2)}
    assert not any(run.outcomes[f"{w}2"].value for run in result.runs for w in actors)
    assert not any(run.waited for run in result.runs)


def test_three_claims_never_get_the_same_row(database: ExploredDatabase) -> None:
    start = StartState(due={"a": "h", "b": "h", "c": "g"})
    workers = ("one", "two", "three")
    actors = {w: Actor(begin(claim(w, 2)), "commit") for w in workers}
    result = interleave(database, start, actors, each_row_is_claimed_once(*workers, rows=3)).assert_clean()
    assert database.explored(result) == 90
    assert {tuple(sorted(claims(run, *workers))) for run in result.runs} == {(0, 1, 2)}


def test_a_claim_passes_over_rows_that_an_application_is_changing(database: ExploredDatabase) -> None:
    extend = "update pastes set expires_at = now() + interval '1 day' where short_code = 'a'"
    actors = {"writer": Actor(begin(extend), "commit"), "worker": Actor(begin(claim("worker", 2)), "commit")}
    result = interleave(database, StartState(due={"a": "h", "b": "h"}), actors).assert_clean()
    assert database.explored(result) >= 5
    assert {claims(run, "worker")[0] for run in result.runs} == {1, 2}
    assert not result.waits("worker1")


def test_two_workers_from_claim_to_finish_share_the_rows_and_release_each_once(
    database: ExploredDatabase,
) -> None:
    start = StartState(due={"a": "h", "b": "g", "c": "g", "d": "h"}, live={"e": "h"})
    actors = {w: Actor(claim(w, 2), begin(drop()), "commit", finish()) for w in ("one", "two")}
    result = interleave(database, start, actors, finished_once(2)).assert_clean()
    assert database.explored(result) >= 50
    assert result.waits("one2")


@pytest.mark.parametrize("legacy", [False, True], ids=["own keys", "legacy keys"])
def test_drops_that_list_shared_hashes_in_opposite_orders_both_succeed(
    database: ExploredDatabase, legacy: bool
) -> None:
    """The last one to leave takes the content along; no order of hashes makes them wait for each other."""
    due = {"a1": "g", "b1": "h", "c1": "i", "c2": "i", "b2": "h", "a2": "g"}
    start = StartState(due=due, live={"z": "i"}, claimed={"one": 3, "two": 3}, legacy=legacy)
    actors = {"first": dropper("one"), "second": dropper("two")}
    result = interleave(database, start, actors, finished_once(2)).assert_clean()
    assert database.explored(result) >= 14
    assert result.waits("second1")
    for run in result.runs:
        assert sorted(len(run.outcomes[f"{name}1"].value) for name in actors) == [0, 2]


def test_of_two_large_drops_that_share_a_hash_neither_waits_and_its_last_paste_takes_it_along(
    database: ExploredDatabase,
) -> None:
    due = {f"a{n}": f"a{n}" for n in range(9)} | {"x1": "shared", "x2": "shared"}
    due |= {f"b{n}": f"b{n}" for n in range(9)}
    start = StartState(due=due, claimed={"one": 10, "two": 10})
    actors = {name: Actor(begin(drop(name)), "commit") for name in ("one", "two")}
    result = interleave(database, start, actors).assert_clean()
    assert database.explored(result) >= 4
    assert not result.waits("one1")
    assert not result.waits("two1")


def test_three_drops_on_a_ring_of_hashes_all_succeed(database: ExploredDatabase) -> None:
    due = {"a1": "g", "b1": "h", "b2": "h", "c2": "i", "c3": "i", "a3": "g"}
    start = StartState(due=due, claimed={"one": 2, "two": 2, "three": 2})
    actors = {name: Actor(begin(drop(name)), "commit") for name in ("one", "two", "three")}
    result = interleave(database, start, actors, finished_once(3)).assert_clean()
    assert database.explored(result) >= 6


def test_a_repeated_drop_returns_what_the_first_one_decided(database: ExploredDatabase) -> None:
    start = StartState(due={"a": "h", "b": "g"}, live={"c": "g"}, claimed={"one": 2})
    actors = {"lost": Actor(begin(drop("one")), "commit"), "again": Actor(begin(drop("one")), "commit")}
    result = interleave(database, start, actors, finished_once(1)).assert_clean()
    assert database.explored(result) >= 4
    answers = [run.outcomes[f"{name}1"].value for run in result.runs for name in actors]
    assert answers == [[("h/first",)]] * len(answers)


def test_a_drop_and_a_crash_of_the_same_drop_release_each_row_once(database: ExploredDatabase) -> None:
    start = StartState(due={"a": "h", "b": "h"}, claimed={"one": 2})
    actors = {"crashed": Actor(begin(drop("one")), "rollback"), "worker": dropper("one")}
    result = interleave(database, start, actors, finished_once(1)).assert_clean(allow=LOST)
    assert database.explored(result) >= 7


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_the_watchdog_takes_a_batch_back_or_the_worker_drops_it_never_both(
    database: ExploredDatabase, end: str
) -> None:
    start = StartState(due={"a": "h", "b": "g"}, live={"c": "g"}, claimed={"one": 2}, later="3 hours")
    actors = {"watchdog": Actor(begin(RESET), end), "worker": dropper("one")}
    result = interleave(database, start, actors, finished_once(1)).assert_clean(allow=LOST)
    assert database.explored(result) >= 7
    assert bool(result.errors("RP001")) is (end == "commit")
    for run in result.runs:
        taken = end == "commit" and run.outcomes["watchdog1"].value[0][1] > 0
        assert taken is (run.outcomes["worker1"].sqlstate == "RP001")


def test_a_row_that_was_taken_back_is_claimed_anew_and_its_old_holder_is_fenced_off(
    database: ExploredDatabase,
) -> None:
    start = StartState(due={"a": "h"}, claimed={"one": 1}, later="3 hours")
    actors = {
        "watchdog": Actor(begin(RESET), "commit"),
        "worker": Actor(begin(claim("worker", 5)), "commit"),
        "zombie": dropper("one"),
    }
    result = interleave(database, start, actors, finished_once(1)).assert_clean(allow=LOST)
    assert database.explored(result) >= 100
    assert any(claims(run, "worker") == [1] for run in result.runs)


def test_a_batch_that_is_given_back_is_not_dropped_and_a_dropped_one_not_given_back(
    database: ExploredDatabase,
) -> None:
    start = StartState(due={"a": "h", "b": "g"}, claimed={"one": 2})
    back = Actor(begin("select reaper.return_batch(%(one)s)"), "commit")
    result = interleave(database, start, {"back": back, "worker": dropper("one")}, finished_once(1))
    assert database.explored(result.assert_clean(allow=LOST)) >= 7
    for run in result.runs:
        assert [run.outcomes[step].sqlstate for step in ("back1", "worker1")].count("RP001") == 1


def test_two_watchdogs_reset_a_batch_once(database: ExploredDatabase) -> None:
    start = StartState(due={"a": "h", "b": "g"}, claimed={"one": 2}, later="3 hours")
    actors = {name: Actor(begin(RESET), "commit") for name in ("first", "second")}
    result = interleave(database, start, actors).assert_clean()
    assert database.explored(result) == 6
    for run in result.runs:
        assert sum(run.outcomes[f"{name}1"].value[0][1] for name in actors) == 1


def test_the_adopter_or_the_old_holder_settles_a_batch_never_both(database: ExploredDatabase) -> None:
    start = StartState(due={"a": "h"}, claimed={"one": 1}, released=("one",), orphaned=True, legacy=True)
    adopter = Actor(begin(ADOPT), "commit", finish("adopted"))
    result = interleave(
        database,
        start,
        {"holder": Actor(begin(finish("one")), "commit"), "adopter": adopter},
        finished_once(1),
    ).assert_clean(allow=LOST)
    assert database.explored(result) >= 8
    for run in result.runs:
        settled = [run.outcomes[step].sqlstate is None for step in ("holder1", "adopter3")]
        assert settled.count(True) == 1


def test_two_adopters_never_get_the_same_batch(database: ExploredDatabase) -> None:
    start = StartState(
        due={"a": "h", "b": "g"}, claimed={"one": 1, "two": 1}, released=("one", "two"), orphaned=True
    )
    actors = {name: Actor(begin(ADOPT), "commit", finish("adopted")) for name in ("first", "second")}
    result = interleave(database, start, actors, finished_once(2)).assert_clean()
    assert database.explored(result) == 20
    for run in result.runs:
        assert run.outcomes["first1"].value != run.outcomes["second1"].value


@pytest.mark.parametrize("failed", ["'[]'", "null"], ids=["all gone", "nothing tried"])
def test_a_batch_is_settled_by_one_of_two_finishes(database: ExploredDatabase, failed: str) -> None:
    start = StartState(due={"a": "h"}, claimed={"one": 1}, released=("one",), legacy=True)
    actors = {name: Actor(begin(finish("one", failed)), "commit") for name in ("first", "second")}
    result = interleave(database, start, actors, finished_once(1)).assert_clean(allow=LOST)
    assert database.explored(result) >= 4
    for run in result.runs:
        assert [run.outcomes[f"{name}1"].sqlstate for name in actors].count("RP001") == 1


def test_an_orphaned_batch_is_adopted_while_its_holder_wakes_up(database: ExploredDatabase) -> None:
    start = StartState(due={"a": "h"}, claimed={"one": 1}, released=("one",), later="3 hours")
    actors = {
        "watchdog": Actor(begin(RESET), "commit"),
        "adopter": Actor(begin(ADOPT), "commit"),
        "holder": Actor(begin(finish("one")), "commit"),
    }
    result = interleave(database, start, actors, finished_once(1)).assert_clean(allow=LOST)
    assert database.explored(result) >= 50
    assert result.errors("RP001")


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_a_drop_outside_read_committed_is_refused_and_changes_nothing(
    database: ExploredDatabase, isolation: str
) -> None:
    start = StartState(due={"a": "h"}, claimed={"one": 1})
    insert = "insert into pastes (short_code, content_hash) values ('new', 'h')"
    add = "update content set ref_count = ref_count + 1 where content_hash = 'h'"
    actors = {
        "writer": Actor(begin(insert), add, "commit"),
        "worker": Actor(begin(drop("one")), "commit", isolation=isolation),
    }
    result = interleave(database, start, actors).assert_clean(allow={"RP006"})
    assert database.explored(result) == 10
    assert len(result.errors("RP006")) == 10


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
@pytest.mark.parametrize("statement", ["select reaper.claim_expired()", "call reaper.drain()"])
def test_a_claim_whose_drop_would_be_refused_marks_nothing(
    database: ExploredDatabase, statement: str, isolation: str
) -> None:
    actors = {"worker": Actor(statement, isolation=isolation)}
    result = explore(database.connect, actors, reset=StartState(due={"a": "h"}).reset, check=violations)
    assert len(result.assert_clean(allow={"RP006"}).errors("RP006")) == 1
    assert values(database.conn, "select batch_id from reaper.batches") == []


# The second visit of a row's deletion waits at a gate: at that moment the batch is being redone in halves.
GATE = """
    create sequence visits;
    grant usage on sequence visits to reaper_owner;
    create function poison() returns trigger language plpgsql as $$
    begin
        if current_user <> 'reaper_owner' then
            return old;
        elsif old.short_code = 'gate' and nextval('public.visits') = 2 then
            perform pg_advisory_xact_lock(7);
        elsif old.short_code = 'poison' then
            raise exception 'not this one';
        end if;
        return old;
    end $$;
    create trigger poison before delete on pastes for each row execute function poison();
"""


def test_a_batch_that_is_redone_in_halves_meets_no_deadlock_with_another(database: ExploredDatabase) -> None:
    """The halves hold hashes h and then g; another drop takes both in their order."""
    database.conn.execute(GATE)
    due = {"gate": "h", "poison": "g", "b": "h", "a": "g"}
    start = StartState(due=due, live={"z": "g"}, claimed={"one": 2, "two": 2})

    def reset(conn: Connection) -> dict[str, object]:
        conn.execute("alter sequence visits restart")
        return start.reset(conn)

    actors = {
        "keeper": Actor(begin("select pg_advisory_xact_lock(7)"), "commit"),
        "one": Actor(drop("one")),
        "two": Actor(drop("two")),
    }
    result = explore(database.connect, actors, reset=reset).assert_clean()
    assert database.explored(result) >= 12
    assert result.waits("one1")
    assert result.waits("two1")


def rest(name: str) -> Callable[[Connection, Memory], None]:
    """The loop of a client that knows no more than three calls; it ends when a claim returns nothing."""

    def until_nothing_is_due(conn: Connection, _memory: Memory) -> None:
        while batches := values(conn, "select batch_id from reaper.claim_expired(10, %s)", name):
            conn.execute("select from reaper.drop_references(%s)", batches)
            conn.execute("select from reaper.finish_batch(%s, '[]')", batches)

    return until_nothing_is_due


def nothing_is_left(conn: Connection, _run: Run) -> list[str]:
    return values(conn, LEFT) + violations(conn)


HOLD = "select from public.pastes where short_code = 'a' for update"


def test_rows_that_no_worker_holds_go_to_one_claim(database: ExploredDatabase) -> None:
    start = StartState(due={"a": "h", "b": "g"}, claimed={"busy": 2}, left=("busy",))
    actors = {w: Actor(begin(claim(w, 1)), HANDED_OUT_TWICE, "commit") for w in ("one", "two")}
    result = interleave(
        database, start, actors, each_row_is_claimed_once("one", "two", rows=2)
    ).assert_clean()
    assert database.explored(result) >= 6
    assert not any(run.outcomes[f"{w}2"].value for run in result.runs for w in actors)


def test_a_client_that_held_a_row_during_its_drop_does_not_end_before_it_is_deleted(
    database: ExploredDatabase,
) -> None:
    """As the claim of another client does, to a row that it came too late for."""
    start = StartState(due={"a": "h", "b": "h"}, claimed={"first": 2})
    actors = {
        "dropper": Actor(begin(drop("first")), "commit", finish("first"), rest("dropper")),
        "holder": Actor(begin(HOLD), "commit", rest("holder")),
    }
    result = explore(
        database.connect, actors, reset=start.reset, check=violations, at_end=nothing_is_left
    ).assert_clean()
    assert database.explored(result) >= 10


def test_a_claim_that_finds_a_row_busy_does_not_keep_it_from_the_session_that_held_it(
    database: ExploredDatabase,
) -> None:
    """Were its batch skipped because the other claim holds it, both would end and the row would stay."""
    start = StartState(due={"a": "h"}, claimed={"busy": 1}, left=("busy",))
    actors = {
        "holder": Actor(begin(HOLD), "commit", rest("holder")),
        "other": Actor(begin(claim("other", 10)), "commit"),
    }

    def judge(conn: Connection, run: Run) -> list[str]:
        return [] if claims(run, "other")[0] else nothing_is_left(conn, run)

    result = explore(database.connect, actors, reset=start.reset, check=violations, at_end=judge)
    assert database.explored(result.assert_clean()) >= 5
    assert result.waits("holder3")
