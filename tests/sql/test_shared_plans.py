"""A cached plan is not keyed by settings: an entry point may run what another one planned."""

from uuid import UUID

import pytest

from tests.support.owed_deletions import lease, settle
from tests.support.paste_fixtures import Connection, Worker, owe
from tests.support.query_plans import scans, watched
from tests.support.sql_call_graph import CallGraph

ROUNDS = 3
# Each plan that is made is kept, and where nothing forbids it, it reads the whole table.
TEMPTED = "set plan_cache_mode = force_generic_plan; set random_page_cost = 1000000"
HOT = ("claim_expired", "drop_references", "reap_expired", "finish_batch")
# What the hot functions are not to read in these ways, whatever the planner thinks of it.
UNWANTED = ("Seq Scan", "Bitmap Heap Scan")
UNREAD = {"pastes", "content", "object_locations", "cleanup_queue", "cleanup_dlq", "retired_keys"}


def test_what_several_entry_points_reach_has_planner_settings_of_its_own_or_the_same_from_all(db):
    graph = CallGraph(db)
    shared = {
        name: dict(contexts)
        for name, contexts in graph.contexts().items()
        if graph.functions[name].reads_large_tables
        and not graph.functions[name].settings
        and len(contexts) > 1
    }
    assert shared == {}


def test_the_look_at_settings_notices_a_function_that_lost_its_own(db):
    db.execute("alter function reaper_internal.lock_contents(text[], boolean) reset all")
    graph = CallGraph(db)
    assert not graph.functions["lock_contents"].settings
    assert len(graph.contexts()["lock_contents"]) > 1


class Visitor:
    """Goes through every entry point that shares a function with the hot ones, with rows to act on."""

    def __init__(self, db: Connection, me: Worker) -> None:
        self.db = db
        self.me = me

    def claimed(self) -> UUID:
        return self.me.claim(1)

    def released(self) -> UUID:
        batch = self.claimed()
        self.me.drop(batch)
        return batch

    def stray(self) -> None:
        self.db.execute(
            "update pastes set deletion_status = 'DELETION_IN_PROGRESS' where short_code ="
            " (select short_code from pastes where deletion_status = 'NOT_EXPIRED' limit 1)"
        )

    def ownerless(self) -> None:
        self.db.execute("update reaper.batches set worker = null where batch_id = %s", [self.claimed()])

    def unreferenced(self, number: int) -> None:
        """Under a name that is looked for everywhere, since it may come back."""
        self.db.execute(
            "insert into content (content_hash, ref_count, created_at)"
            " values (%s, 0, now() - interval '1 year')",
            [f"unreferenced {number}"],
        )

    def visit(self, number: int) -> set[str]:
        """Once through all of them; the names of those that were called."""
        self.stray()
        self.me.call("reset_strays", "0")
        self.me.call("reset_stuck")
        self.ownerless()
        self.me.call("reset_stuck")
        self.unreferenced(number)
        self.me.call("collect_unreferenced")
        self.me.call("return_batch", self.claimed())
        self.claimed()
        self.me.call("return_or_disown", self.claimed())
        self.claimed()
        self.me.call("return_unknown_batches", self.me.name, [])
        self.claimed()
        self.me.call("retire_worker", self.me.name)
        self.me.call("drop_batch", self.claimed())
        self.me.call("reap_batch", 1, self.me.name, "-infinity", None)
        self.me.call("reap_without_owner", 1, "-infinity", None)
        batch = self.released()
        self.me.call("released_codes", batch)
        self.me.call("disown_batch", batch)
        owe(self.db, f"owed {number}")
        settle(self.me, lease(self.me, 10)[0], [])
        owe(self.db, f"dead {number}", "cleanup_dlq")
        self.me.call("write_off_dlq", None, None, None, "test")
        self.db.execute("call reaper.drain(1, 1)")
        while adopted := self.me.adopt():
            self.me.finish(adopted.batch_id)
        return {
            *("reset_strays", "reset_stuck", "collect_unreferenced", "return_batch", "return_or_disown"),
            *("return_unknown_batches", "retire_worker", "drop_batch", "released_codes", "disown_batch"),
            *("reap_batch", "reap_without_owner", "finish_cleanup", "write_off_dlq", "drain"),
        }


def work(me: Worker, db: Connection) -> None:
    """What a worker does all night: rows that go, one that was extended meanwhile, one that cannot go."""
    batch = me.claim(5)
    db.execute(
        "update pastes set expires_at = null"
        " where short_code = (select short_codes[1] from reaper.batches where batch_id = %s)",
        [batch],
    )
    me.drop(batch)
    me.finish(batch)
    (reaped,) = me.call("reap_expired", 5, me.name)
    me.finish(reaped.batch_id)


@pytest.mark.parametrize("analyzed", [False, True], ids=["before analyze", "after analyze"])
def test_no_hot_plan_is_worse_after_every_other_entry_point_ran_in_the_session(db, me, paste, analyzed):
    paste.many("p", 400)
    if analyzed:
        db.execute("analyze")
    visitor = Visitor(db, me)
    db.execute(TEMPTED)
    called = set[str]().union(*(visitor.visit(number) for number in range(ROUNDS)))
    assert called >= sharing_with_hot_ones(db)
    db.execute("reset random_page_cost")
    plans = watched(db)
    for _ in range(ROUNDS):
        work(me, db)
    assert scanned(plans) == set()


def sharing_with_hot_ones(db: Connection) -> set[str]:
    """The other entry points that run a function of the hot ones that reads what may be large."""
    graph = CallGraph(db)
    hot = {
        name
        for entry in HOT
        for name in graph.reached_from(entry)
        if graph.functions[name].internal and graph.functions[name].reads_large_tables
    }
    entries = {function.name for function in graph.functions.values() if not function.internal}
    return {entry for entry in entries - set(HOT) if not graph.reached_from(entry).isdisjoint(hot)}


def scanned(plans: list[dict[str, object]]) -> set[str]:
    """What a function read otherwise than by its index; the test's own statements are not meant."""
    return {
        table
        for plan in plans
        if "update pastes" not in plan["Query Text"]
        for how, table in scans(plan["Plan"])
        if how in UNWANTED and table in UNREAD
    }


@pytest.mark.parametrize("before", [0, ROUNDS], ids=["alone", "after another entry point"])
@pytest.mark.parametrize("settings", ["own", "none"])
def test_a_function_without_settings_runs_what_another_entry_point_planned(db, me, paste, before, settings):
    """Why a function keeps its own: the drop, which sets them too, would run the plan that was there."""
    paste.many("p", 100)
    if settings == "none":
        db.execute("alter function reaper_internal.return_rows(text[], jsonb) reset all")
    db.execute(TEMPTED)
    for _ in range(before):
        me.call("return_batch", me.claim(1))
    db.execute("reset random_page_cost")
    plans = watched(db)
    for _ in range(ROUNDS):
        work(me, db)
    assert scanned(plans) == ({"pastes"} if settings == "none" and before else set())
