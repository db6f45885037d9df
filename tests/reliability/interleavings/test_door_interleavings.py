"""Writers at the doors, workers and the pending reaper at one content, in every order of their statements."""

from collections.abc import Iterable

import pytest

from tests.support.interleavings.actors import Connection
from tests.support.interleavings.explorer import Actor, Run, sql
from tests.support.interleavings.put_scenes import (
    DELETE,
    ENDS,
    EXTEND,
    PUT,
    RESOLVE,
    commit,
    crossed_waits,
    ended_once,
    extension_is_kept,
    first,
    is_kept,
    is_there,
    readable,
    room_for_one,
    upload_and_commit,
)
from tests.support.interleavings.scenes import (
    ExploredDatabase,
    StartState,
    begin,
    claim,
    codes,
    committed,
    drop,
    dropper,
    finish,
    has_expired,
    interleave,
    values,
)

STARTS = pytest.mark.parametrize(
    "start",
    [
        pytest.param(StartState(due={"a": "h"}, claimed={"batch": 1}, begun={"new": "h"}), id="alone"),
        pytest.param(
            StartState(due={"a": "h"}, live={"b": "h"}, claimed={"batch": 1}, begun={"new": "h"}), id="shared"
        ),
        pytest.param(
            StartState(due={"c": "g", "a": "h"}, claimed={"batch": 2}, begun={"new": "h"}), id="two hashes"
        ),
        pytest.param(
            StartState(due={"a": "h"}, claimed={"batch": 1}, legacy=True, begun={"new": "h"}), id="bare names"
        ),
    ],
)

pytestmark = pytest.mark.ordeal("interleavings", aim="12,000 schedules", share=0)


@STARTS
def test_a_commit_and_a_drop_of_the_last_reference_lose_no_paste(
    database: ExploredDatabase, start: StartState
) -> None:
    actors = {"writer": Actor(begin(commit("new")), "commit"), "worker": dropper("batch")}
    result = interleave(database, start, actors, is_kept("new")).assert_clean()
    assert database.explored(result) >= 7
    assert result.waits("writer1")
    assert result.waits("worker1")
    assert {run.outcomes["writer1"].value[0][1] for run in result.runs} == {True, False} or start.live


@STARTS
def test_who_uploaded_nothing_is_told_when_its_bytes_are_needed(
    database: ExploredDatabase, start: StartState
) -> None:
    actors = {
        "writer": Actor(begin(commit("new", uploaded=False)), "commit", upload_and_commit),
        "worker": dropper("batch"),
    }
    result = interleave(database, start, actors, is_there).assert_clean(allow={"RP002"})
    assert database.explored(result) >= 10
    assert bool(result.errors("RP002")) is not bool(start.live)


@STARTS
def test_a_commit_that_is_taken_back_leaves_the_drop_its_content(
    database: ExploredDatabase, start: StartState
) -> None:
    actors = {"writer": Actor(begin(commit("new")), "rollback"), "worker": dropper("batch")}

    def judge(conn: Connection, _run: Run) -> list[str]:
        left = values(conn, "select intent_id from reaper.put_intents")
        return ["the intent is lost"] if not left or "new" in codes(conn) else []

    result = interleave(database, start, actors, judge).assert_clean()
    assert database.explored(result) >= 7


def test_of_two_commits_and_a_drop_one_makes_the_content_and_both_refer_to_it(
    database: ExploredDatabase,
) -> None:
    start = StartState(due={"a": "h"}, claimed={"batch": 1}, begun={"new": "h", "other": "h"})
    actors = {
        "writer": Actor(begin(commit("new")), "commit"),
        "second": Actor(begin(commit("other")), "commit"),
        "worker": Actor(begin(drop("batch")), "commit"),
    }

    def judge(conn: Connection, run: Run) -> Iterable[str]:
        yield from is_kept("new")(conn, run)
        yield from is_kept("other", "second")(conn, run)
        spare = values(conn, "select count(*) from reaper.cleanup_queue")[0]
        stored = sum(bool(run.outcomes[f"{actor}1"].value[0][1]) for actor in ("writer", "second"))
        if spare + stored != 2:
            yield f"{stored} stored their bytes, {spare} have them queued"

    result = interleave(database, start, actors, judge).assert_clean()
    assert database.explored(result) >= 30
    assert result.waits("second1")


def test_two_commits_of_content_that_nobody_has_wait_for_each_other_and_both_stand(
    database: ExploredDatabase,
) -> None:
    start = StartState(live={"b": "g"}, begun={"new": "h", "other": "h"})
    actors = {
        "writer": Actor(begin(commit("new")), "commit"),
        "second": Actor(begin(commit("other")), "rollback"),
    }
    result = interleave(database, start, actors, is_kept("new")).assert_clean()
    assert database.explored(result) >= 4
    assert result.waits("writer1")


def test_of_two_puts_of_one_code_one_stands(database: ExploredDatabase) -> None:
    start = StartState(live={"b": "g"}, begun={"new": "h"})
    second = sql("select intent_id from reaper.begin_put('new', 'other', 10)", stop=True)
    actors = {
        "writer": Actor(begin(commit("new")), "commit"),
        "second": Actor(second, begin("select stored from reaper.commit_put(%(intent_id)s, true)"), "commit"),
    }

    def judge(conn: Connection, run: Run) -> list[str]:
        made = values(conn, "select content_hash from public.pastes where short_code = 'new'")
        winners = [name for name in ("writer", "second") if committed(run, name)]
        return [] if len(made) == len(winners) == 1 else [f"{winners} committed, the paste has {made}"]

    result = interleave(database, start, actors, judge).assert_clean(allow={"23505"})
    assert database.explored(result) >= 6
    assert result.errors("23505")


@pytest.mark.slow(but=6)
@pytest.mark.parametrize("one", ENDS)
@pytest.mark.parametrize("two", ENDS)
def test_an_intent_ends_once(database: ExploredDatabase, one: str, two: str) -> None:
    start = StartState(live={"b": "g"}, begun={"new": "h"}, leased=True)
    actors = {"commit" if one == "commit" else "one": ENDS[one], "two": ENDS[two]}
    result = interleave(database, start, actors, ended_once).assert_clean(allow={"RP003"})
    assert database.explored(result) >= 4
    assert result.waits("two1")


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("found", [True, False])
def test_a_writer_the_pending_reaper_and_a_drop_lose_neither_paste_nor_bytes(
    database: ExploredDatabase, found: bool
) -> None:
    start = StartState(due={"a": "h"}, claimed={"batch": 1}, begun={"new": "h"}, leased=True)
    actors = {
        "writer": Actor(begin(commit("new")), "commit"),
        "reaper": Actor(begin(RESOLVE.format(found=found)), "commit"),
        "worker": Actor(begin(drop("batch")), "commit"),
    }

    def judge(conn: Connection, run: Run) -> Iterable[str]:
        made = committed(run, "writer") or first(run, "reaper1") == "committed"
        if readable(conn, "new") is not made:
            yield f"the paste is {'lost' if made else 'there'}"

    result = interleave(database, start, actors, judge).assert_clean(allow={"RP003"})
    assert database.explored(result) >= 30
    assert {first(run, "reaper1") for run in result.runs} == {"committed" if found else "dropped", "gone"}


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("live", [{}, {"b": "h"}], ids=["alone", "shared"])
def test_an_extension_against_a_worker_from_claim_to_finish_is_kept_or_refused(
    database: ExploredDatabase, live: dict[str, str]
) -> None:
    actors = {
        "writer": Actor(begin(EXTEND), "commit"),
        "worker": Actor(begin(claim("worker", 10)), "commit", begin(drop()), "commit", finish()),
    }
    result = interleave(database, StartState(due={"a": "h", "c": "h"}, live=live), actors, extension_is_kept)
    assert database.explored(result.assert_clean()) >= 15
    assert {first(run, "writer1") for run in result.runs} == {True, False}
    assert result.waits("writer1")


def test_an_extension_that_is_taken_back_delays_the_collection_and_no_more(
    database: ExploredDatabase,
) -> None:
    actors = {"writer": Actor(begin(EXTEND), "rollback"), "worker": dropper("batch")}
    start = StartState(due={"a": "h"}, claimed={"batch": 1})
    result = interleave(database, start, actors, has_expired("a")).assert_clean()
    assert database.explored(result) >= 7


@pytest.mark.slow
def test_an_extension_against_two_workers_and_the_watchdog(database: ExploredDatabase) -> None:
    start = StartState(due={"a": "h", "c": "g"}, claimed={"one": 1}, later="3 hours")
    actors = {
        "writer": Actor(begin(EXTEND), "commit"),
        "holder": Actor(drop("one")),
        "watchdog": Actor("select rows_reset from reaper.reset_stuck()", claim("second", 10), drop()),
    }
    result = interleave(database, start, actors, extension_is_kept).assert_clean(allow={"RP001"})
    assert database.explored(result) >= 30


@pytest.mark.parametrize("live", [{"b": "h"}, {"b": "h", "d": "h"}], ids=["alone", "shared"])
def test_a_deletion_against_a_worker_from_claim_to_finish_ends_in_the_same(
    database: ExploredDatabase, live: dict[str, str]
) -> None:
    actors = {
        "writer": Actor(begin(DELETE), "commit"),
        "worker": Actor(claim("worker", 10), begin(drop()), "commit", finish()),
    }
    start = StartState(due={"a": "h"}, live=live)
    result = interleave(database, start, actors, has_expired("b")).assert_clean()
    assert database.explored(result) >= 10
    assert {first(run, "writer1") for run in result.runs} == {True}


@pytest.mark.slow
def test_a_deletion_and_an_extension_of_one_paste_against_a_drop(database: ExploredDatabase) -> None:
    """Whoever was last decides, unless the paste was gone by then."""
    start = StartState(due={"a": "h"}, claimed={"batch": 1})
    delete = DELETE.replace("'b'", "'a'")
    actors = {
        "writer": Actor(begin(EXTEND), "commit"),
        "other": Actor(begin(delete), "commit"),
        "worker": Actor(begin(drop("batch")), "commit"),
    }

    def judge(conn: Connection, run: Run) -> Iterable[str]:
        extended, deleted = first(run, "writer1"), first(run, "other1")
        kept = bool(extended) and not deleted
        if readable(conn, "a") is not kept:
            yield f"extended: {extended}, deleted: {deleted}, readable: {not kept}"

    result = interleave(database, start, actors, judge).assert_clean()
    assert database.explored(result) >= 30
    assert {first(run, "other1") for run in result.runs} == {True, False}


def test_of_three_who_reserve_the_last_room_one_gets_it(database: ExploredDatabase) -> None:
    result = room_for_one(database).assert_clean(allow={"RP008"})
    assert database.explored(result) >= 12
    for run in result.runs:
        assert [run.outcomes[f"{who}1"].sqlstate for who in ("one", "two", "three")].count(None) == 1
    assert result.waits("two1")


def test_writers_who_find_one_backend_full_meet_no_deadlock_at_the_next(database: ExploredDatabase) -> None:
    [run] = crossed_waits(database).assert_clean(allow={"RP008"}).runs
    assert run.waited == {"b1", "d1"}
    assert (run.outcomes["b1"].sqlstate, run.outcomes["d1"].sqlstate) == ("RP008", "RP008")


def test_doors_refuse_a_snapshot_that_may_be_old(database: ExploredDatabase) -> None:
    start = StartState(due={"a": "h"}, claimed={"batch": 1}, begun={"new": "h"}, leased=True)
    for statement in (commit("new"), PUT.format("x"), RESOLVE.format(found=True)):
        actors = {
            "writer": Actor(begin(statement), "commit", isolation="repeatable read"),
            "worker": Actor(begin(drop("batch")), "commit"),
        }
        result = interleave(database, start, actors).assert_clean(allow={"RP006"})
        assert len(result.errors("RP006")) == len(result.runs)


def test_a_commit_whose_answer_was_lost_can_be_asked_for_and_tried_again(database: ExploredDatabase) -> None:
    start = StartState(due={"a": "h"}, claimed={"batch": 1}, begun={"new": "h"})
    look = "select object_key from reaper.get_paste('new')"
    actors = {"writer": Actor(commit("new"), commit("new"), look), "worker": dropper("batch")}
    result = interleave(database, start, actors, is_there).assert_clean(allow={"RP003"})
    assert database.explored(result) >= 10
    assert all(run.outcomes["writer2"].sqlstate == "RP003" for run in result.runs)
    assert all(run.outcomes["writer3"].value for run in result.runs)
