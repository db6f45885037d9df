"""A cached plan is not keyed by settings: an entry point may run what another one planned."""

from uuid import UUID

import pytest

from tests.support.copy_fixtures import Copier, backends, factor, state
from tests.support.owed_deletions import lease, settle
from tests.support.paste_fixtures import Connection, Worker, owe, record
from tests.support.query_plans import scans, watched
from tests.support.sql_call_graph import CallGraph
from tests.support.writer_fixtures import Writer

ROUNDS = 3
# Each plan that is made is kept, and where nothing forbids it, it reads the whole table. At such costs JIT
# would compile every statement.
TEMPTED = "set plan_cache_mode = force_generic_plan; set random_page_cost = 1000000; set jit = off"
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


class Keeper:
    """Goes through what makes, replaces and removes copies, so that each of them queues an object."""

    def __init__(self, db: Connection) -> None:
        self.db = db
        self.copier = Copier(db)
        self.writer = Writer(db)
        backends(db, "east")

    def visit(self, number: int) -> set[str]:
        """Once through all of them; the names of those that were called."""
        state(self.db, "east", "readonly")
        self.repaired(f"repaired {number}")
        state(self.db, "east", "active")
        self.copied(f"copied {number}")
        self.untracked(f"untracked {number}")
        return {
            *("commit_put", "finish_intent", "commit_copy", "commit_copies", "fail_copy", "fail_copies"),
            *("drop_stale_copies", "remove_copy", "finish_untracked"),
        }

    def repaired(self, name: str) -> None:
        """A bad copy is replaced where it lies, by a put and by one that its writer left open."""
        self.writer.put(name, name)
        self.corrupt(name)
        self.writer.put(f"{name} again", name)
        self.corrupt(name)
        intent = self.writer.begin(f"{name} and left", name).intent_id
        self.db.execute("update reaper.put_intents set begun_at = '-infinity', next_attempt = '-infinity'")
        [left] = self.writer.call("claim_intents", 1)
        assert left.intent_id == intent
        assert self.writer.call("finish_intent", intent, left.lease, True, 10, None) == [("committed",)]

    def corrupt(self, content: str) -> None:
        place = record(self.db, "select backend, object_key from reaper.copies_of(%s) limit 1", content)
        assert self.copier.report(content, *place, "corrupt") == "recorded"

    def copied(self, name: str) -> None:
        """Of six copies one is made and removed, and the others end without being needed, or made."""
        factor(self.db, 2)
        for each in range(6):
            self.writer.put(f"{name} {each}", f"{name} {each}")
        made, *others = self.copier.claim_copies()
        assert self.copier.commit_copy(made) == "copied"
        factor(self.db, 1)
        gone = (made.content_hash, made.destination, made.object_key)
        assert self.copier.call("remove_copy", *gone, made.sources, made.source_keys) == [("removed",)]
        one, other, failed, undone, _ = others
        assert self.copier.commit_copy(one) == "not_needed"
        given = ([other.sources[0]], [10], [None], [True])
        [answer] = self.copier.call("commit_copies", other.lease, [other.intent_id], *given)
        assert answer.outcome == "not_needed"
        assert self.copier.fail_copy(failed)
        assert self.copier.call("fail_copies", undone.lease, [undone.intent_id], ["no answer"], [True]) == [
            (1,)
        ]
        self.db.execute("update reaper.copy_intents set lease_until = '-infinity'")
        assert self.copier.call("drop_stale_copies") == [(1,)]
        self.db.execute("delete from reaper.copy_wants")

    def untracked(self, key: str) -> None:
        """An object without a row, whose name is retired and that is queued."""
        self.db.execute("insert into reaper.retired_keys (object_key, retired_at) values (%s, now())", [key])
        self.db.execute(
            "insert into reaper.sightings"
            " (backend, object_key, size_bytes, first_seen, last_seen, retired_at)"
            " values ('default', %s, 10, now(), now(), now())",
            [key],
        )
        assert [self.copier.call("finish_untracked")[0].queued for _ in range(2)] == [0, 1]


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
    visitors = Visitor(db, me), Keeper(db)
    db.execute(TEMPTED)
    called = set[str]().union(*(one.visit(number) for number in range(ROUNDS) for one in visitors))
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
