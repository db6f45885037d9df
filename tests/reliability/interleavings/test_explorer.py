import re
from collections.abc import Callable
from functools import partial
from math import comb, factorial
from typing import Any

import psycopg
import pytest

from tests.support.interleavings.explorer import Actor, Exploration, ExplorerError, Run, explore, sql

Connection = psycopg.Connection[Any]
Connect = Callable[[], Connection]

READ = "select amount as seen from account where name = 'x'"
WRITE = "update account set amount = %(seen)s + 1 where name = 'x'"
ADD = "update account set amount = amount + 1 where name = %s"


@pytest.fixture
def connect(empty_db_dsn: str) -> Connect:
    open_one = partial(psycopg.connect, empty_db_dsn, autocommit=True)
    with open_one() as conn:
        conn.execute("create table account (name text primary key, amount int not null)")
        conn.execute("create table entry (account text not null references account)")
    return open_one


def two_accounts(conn: Connection) -> None:
    conn.execute("delete from entry")
    conn.execute("delete from account")
    conn.execute("insert into account values ('x', 0), ('y', 0)")


def amounts(conn: Connection) -> dict[str, int]:
    return dict(conn.execute("select name, amount from account").fetchall())


def lost_update(conn: Connection, _run: Run) -> list[str]:
    amount = amounts(conn)["x"]
    return [] if amount == 2 else [f"two increments made {amount}"]


def torn(conn: Connection) -> list[str]:
    return ["x without y"] if amounts(conn)["x"] != amounts(conn)["y"] else []


def add_to(*names: str) -> Actor:
    return Actor("begin", *(sql(ADD, name) for name in names), "commit")


def count_in_python(read: str) -> dict[str, Actor]:
    return {name: Actor("begin", read, WRITE, "commit") for name in "ab"}


@pytest.mark.parametrize(("m", "n"), [(1, 1), (2, 3), (4, 4)])
def test_two_independent_actors_are_merged_in_every_order_once(connect: Connect, m: int, n: int) -> None:
    actors = {"a": Actor(*["select 1"] * m), "b": Actor(*["select 2"] * n)}
    schedules = explore(connect, actors, reset=two_accounts).schedules
    assert len(schedules) == len(set(schedules)) == comb(m + n, m)
    assert all(sorted(schedule.split()) == sorted(schedules[0].split()) for schedule in schedules)


def test_three_actors_are_merged_in_every_order_once(connect: Connect) -> None:
    actors = {name: Actor("select 1", "select 2") for name in "abc"}
    schedules = explore(connect, actors, reset=two_accounts).schedules
    assert len(set(schedules)) == len(schedules) == factorial(6) // 2**3


def test_every_schedule_begins_in_the_state_that_the_reset_made(connect: Connect) -> None:
    def stain(conn: Connection, _memory: dict[str, Any]) -> None:
        conn.execute("select pg_advisory_lock(1)")
        conn.execute("create temp table stain ()")
        conn.execute("set my.stain = 'old'")
        conn.execute("begin")
        conn.execute("delete from account")

    look = "select to_regclass('stain'), nullif(current_setting('my.stain', true), ''), count(*) from account"
    locks = "select count(*) from pg_locks where locktype = 'advisory'"
    result = explore(connect, {"a": Actor(look, locks, stain), "b": Actor(READ)}, reset=two_accounts)
    assert [run.outcomes["a1"].value for run in result.runs] == [[(None, None, 2)]] * 4
    assert [run.outcomes["a2"].value for run in result.runs] == [[(0,)]] * 4


def test_the_memory_of_an_actor_begins_with_what_the_reset_returned(connect: Connect) -> None:
    def reset(conn: Connection) -> dict[str, Any]:
        two_accounts(conn)
        return {"who": "y"}

    find = "select name as found from account where name = %(who)s"
    run = explore(connect, {"a": Actor(find, "select %(found)s::text")}, reset=reset).runs[0]
    assert run.outcomes["a2"].value == [("y",)]


def test_an_actor_plays_its_role_in_every_schedule(connect: Connect) -> None:
    actors = {"a": Actor("select current_user", "reset role", role="pg_monitor"), "b": Actor(READ)}
    runs = explore(connect, actors, reset=two_accounts).runs
    assert [run.outcomes["a1"].value for run in runs] == [[("pg_monitor",)]] * 3


def test_a_query_without_rows_leaves_nulls_in_the_memory(connect: Connect) -> None:
    none = "select name from account where name = 'z'"
    run = explore(connect, {"a": Actor(READ, none, "select %(name)s::text")}, reset=two_accounts).runs[0]
    assert run.outcomes["a3"].value == [(None,)]


def test_a_lost_update_is_found(connect: Connect) -> None:
    result = explore(connect, count_in_python(READ), reset=two_accounts, at_end=lost_update)
    assert ["two increments made 1"] in result.violations.values()
    assert len(result.violations) < len(result.runs)
    with pytest.raises(AssertionError, match="two increments made 1"):
        result.assert_clean()


def test_locking_the_row_before_reading_it_makes_the_lost_update_vanish(connect: Connect) -> None:
    result = explore(connect, count_in_python(f"{READ} for update"), reset=two_accounts, at_end=lost_update)
    assert result.waits("a2")
    assert result.waits("b2")
    assert not result.assert_clean().violations


def test_a_violation_that_lasts_for_one_step_only_is_found(connect: Connect) -> None:
    steps = (sql(ADD, "x"), sql(ADD, "y"))
    assert explore(connect, {"a": Actor(*steps)}, reset=two_accounts, check=torn).violations
    explore(connect, {"a": Actor("begin", *steps, "commit")}, reset=two_accounts, check=torn).assert_clean()


def test_a_blocked_step_is_reported_as_waiting_and_ends_when_it_is_released(connect: Connect) -> None:
    actors = {"a": add_to("x"), "b": Actor(sql(ADD, "x"))}
    result = explore(connect, actors, reset=two_accounts).assert_clean()
    assert sorted(result.schedules) == [
        "a1 a2 (b1 waits) a3 b1",
        "a1 a2 a3 b1",
        "a1 b1 a2 a3",
        "b1 a1 a2 a3",
    ]
    assert all(run.outcomes["b1"].value == 1 for run in result.runs)


def test_a_queue_of_waiters_is_followed_from_one_to_the_next(connect: Connect) -> None:
    actors = {name: add_to("x") for name in "abc"}
    only = "a1 b1 c1 a2 (b2 waits) (c2 waits) a3 b2 b3 c2 c3"
    run = explore(connect, actors, reset=two_accounts, only=only).assert_clean().runs[0]
    assert run.schedule == only


def test_both_orders_of_two_waiters_who_are_released_at_once_are_explored(connect: Connect) -> None:
    add = "begin; update account set amount = amount + 1 where name = 'x'"
    actors = {name: Actor(add, "commit") for name in "abc"}
    result = explore(connect, actors, reset=two_accounts).assert_clean()
    assert len(set(result.schedules)) == len(result.schedules)
    assert {run.schedule.split()[-1] for run in result.runs} == {"a2", "b2", "c2"}


def test_skip_locked_does_not_wait(connect: Connect) -> None:
    take = "select name from account order by name limit 1 for update skip locked"
    result = explore(connect, {n: Actor("begin", take, "commit") for n in "ab"}, reset=two_accounts)
    assert len(result.assert_clean().runs) == comb(6, 3)
    assert not any(run.waited for run in result.runs)


def test_a_deadlock_is_found_and_counted(connect: Connect) -> None:
    actors = {"a": add_to("x", "y"), "b": add_to("y", "x")}
    result = explore(connect, actors, reset=two_accounts).assert_clean(allow={"40P01"})
    assert 0 < len(result.deadlocks) < len(result.runs)
    with pytest.raises(AssertionError, match="40P01"):
        result.assert_clean()


def test_the_victim_of_a_deadlock_is_the_one_who_closed_the_circle(connect: Connect) -> None:
    actors = {"a": add_to("x", "y"), "b": add_to("y", "x")}
    for first, last in ("ab", "ba"):
        only = f"a1 b1 a2 b2 ({first}3 waits) {last}3"
        run = explore(connect, actors, reset=two_accounts, only=only).runs[0]
        assert run.outcomes[f"{last}3"].sqlstate == "40P01"
        assert run.outcomes[f"{first}3"].value == 1


def write_skew(connect: Connect, isolation: str) -> Exploration:
    def both_gone(conn: Connection) -> list[str]:
        return ["nobody is on call"] if set(amounts(conn).values()) == {0} else []

    def fill(conn: Connection) -> None:
        two_accounts(conn)
        conn.execute("update account set amount = 1")

    def leave(name: str) -> Actor:
        go = f"update account set amount = 0 where name = '{name}' and %(on_call)s > 1"
        return Actor("begin", "select sum(amount) as on_call from account", go, "commit", isolation=isolation)

    return explore(connect, {"a": leave("x"), "b": leave("y")}, reset=fill, check=both_gone)


def test_write_skew_under_repeatable_read_is_found(connect: Connect) -> None:
    result = write_skew(connect, "repeatable read")
    assert result.violations
    assert not result.errors("40001")


def test_write_skew_under_serializable_is_refused_by_postgresql(connect: Connect) -> None:
    assert write_skew(connect, "serializable").assert_clean(allow={"40001"}).errors("40001")


def test_the_schedule_of_a_violation_replays_to_the_same_violation(connect: Connect) -> None:
    result = explore(connect, count_in_python(READ), reset=two_accounts, at_end=lost_update)
    for schedule, violations in list(result.violations.items())[:5]:
        replayed = explore(
            connect, count_in_python(READ), reset=two_accounts, at_end=lost_update, only=schedule
        )
        assert replayed.violations == {schedule: violations}


def test_the_failure_tells_the_shortest_way_step_by_step_and_how_to_replay_it(connect: Connect) -> None:
    actors = {"a": Actor(sql(ADD, "x"), sql(ADD, "y")), "b": Actor("select 1", "select 2")}
    with pytest.raises(AssertionError) as failure:
        explore(connect, actors, reset=two_accounts, check=torn).assert_clean()
    assert str(failure.value).splitlines() == [
        "6 of 6 schedules go wrong; the shortest way:",
        "",
        f"a1         {ADD}  ('x',)  -> 1",
        "           ! x without y",
        "",
        "replay: explore(..., only='a1')",
    ]


@pytest.mark.parametrize(("lock", "waits"), [("for update", True), ("for no key update", False)])
def test_an_uncommitted_child_blocks_only_the_strongest_lock_on_its_parent(
    connect: Connect, lock: str, waits: bool
) -> None:
    actors = {
        "child": Actor("begin", "insert into entry values ('x')", "commit"),
        "parent": Actor("begin", f"select from account where name = 'x' {lock}", "commit"),
    }
    result = explore(connect, actors, reset=two_accounts).assert_clean()
    assert bool(result.waits("parent2")) is waits
    assert bool(result.waits("child2")) is waits


def test_an_error_is_an_outcome_and_the_actor_goes_on(connect: Connect) -> None:
    actors = {"a": Actor("begin", "select 1/0", READ, "commit", READ)}
    result = explore(connect, actors, reset=two_accounts).assert_clean(allow={"22012"})
    outcomes = result.runs[0].outcomes
    assert [outcomes[f"a{n}"].sqlstate for n in range(1, 6)] == [None, "22012", "25P02", None, None]


def test_an_error_ends_the_actor_at_a_step_that_says_so(connect: Connect) -> None:
    actors = {"a": Actor(sql("select 1/0", stop=True), READ), "b": Actor(READ)}
    assert explore(connect, actors, reset=two_accounts).schedules == ["a1 b1", "b1 a1"]


def test_a_connection_that_died_in_one_schedule_is_new_in_the_next(connect: Connect) -> None:
    actors = {"a": Actor(READ, "select pg_terminate_backend(pg_backend_pid())", READ), "b": Actor(READ)}
    result = explore(connect, actors, reset=two_accounts)
    assert {run.outcomes["a1"].sqlstate for run in result.runs} == {None}
    assert {run.outcomes["a2"].sqlstate for run in result.runs} == {"57P01"}
    assert {run.outcomes["a3"].sqlstate for run in result.runs} == {"OperationalError"}


def test_a_step_that_nobody_is_left_to_release_fails_the_exploration(connect: Connect) -> None:
    actors = {"a": Actor("begin", sql(ADD, "x")), "b": Actor(sql(ADD, "x"))}
    result = explore(connect, actors, reset=two_accounts)
    assert [run.stuck for run in result.runs if run.stuck] == [["b1"]]
    with pytest.raises(AssertionError, match=re.escape("b1         ! waits for ever")):
        result.assert_clean()


def test_a_sample_is_drawn_by_its_seed_and_has_no_order_twice(connect: Connect) -> None:
    actors = {name: add_to("x") for name in "ab"} | {"c": Actor(READ, READ, READ)}

    def draw(seed: int) -> list[str]:
        return explore(connect, actors, reset=two_accounts, sample=20, seed=seed).assert_clean().schedules

    assert draw(1) == draw(1) != draw(2)
    assert len(set(draw(1))) == len(draw(1)) <= 20


def test_a_schedule_that_locks_do_not_allow_is_refused(connect: Connect) -> None:
    actors = {"a": add_to("x"), "b": Actor(sql(ADD, "x"), READ)}
    with pytest.raises(ExplorerError, match="no run goes 'a1 a2 b1 b2 a3'"):
        explore(connect, actors, reset=two_accounts, only="a1 a2 b1 b2 a3")


def test_more_schedules_than_the_limit_are_refused(connect: Connect) -> None:
    with pytest.raises(ExplorerError, match="more than 5 schedules"):
        explore(connect, {n: Actor(READ, READ) for n in "ab"}, reset=two_accounts, limit=5)


def test_an_exception_of_a_step_that_is_not_the_databases_ends_the_exploration(connect: Connect) -> None:
    def broken(_conn: Connection, _memory: dict[str, Any]) -> None:
        raise LookupError("a mistake in the scenario")

    with pytest.raises(LookupError, match="a mistake in the scenario"):
        explore(connect, {"a": Actor(broken)}, reset=two_accounts)


@pytest.mark.parametrize("name", ["w1", "", "two words"])
def test_an_actor_whose_steps_could_not_be_named_is_refused(connect: Connect, name: str) -> None:
    with pytest.raises(ValueError, match="steps are numbered"):
        explore(connect, {name: Actor(READ)}, reset=two_accounts)
