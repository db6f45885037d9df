"""Copies that are too many, to be drained, or on a backend that is too full; never the last good one."""

import pytest

from tests.support.copy_fixtures import answer, backends, factor, fail, places, state
from tests.support.paste_fixtures import accounts, column, contents, refused, unbound, value


@pytest.fixture
def three(checked_db):
    """default, east and west."""
    backends(checked_db, "east", "west")
    return checked_db


def finish_cleanup(db, clock):
    """What is queued is deleted, as the cleanup queue does it."""
    clock.advance("2 hours")
    for _ in range(3):
        for lease in set(column(db, "select lease from reaper.claim_cleanup(1000)")):
            db.execute("select reaper.finish_cleanup(%s, '[]')", [lease])
        clock.advance("2 hours")


def test_copies_follow_the_factor_up_and_down(three, writer, copier):
    for number in range(6):
        writer.put(f"p{number}", f"h{number}")
    for copies in (2, 3, 1):
        factor(three, copies)
        copier.replicate()
        copier.remove_excess()
        assert {len(places(three, f"h{number}")) for number in range(6)} == {copies}
    assert value(three, "select count(*) from reaper.object_locations where verified_at is null") == 0
    assert value(three, "select count(*) from reaper.copy_excess") == 0
    assert copier.claim_excess() == []


def test_the_fullest_goes_first_and_a_copy_goes_only_with_others_that_were_seen(three, writer, copier):
    for name, quota in (("default", 1000), ("east", 100), ("west", 500)):
        three.execute("select reaper.set_quota(%s, %s, 'a test')", [name, quota])
    factor(three, 3)
    writer.put("a", "h")
    copier.replicate()
    factor(three, 2)
    copier.sweep()
    [excess] = copier.claim_excess()
    assert (excess.remove_backend, excess.keep_backends) == ("east", ["default", "west"])
    assert copier.claim_excess() == []
    call = ("remove_copy", "h", "east", excess.remove_key)
    keep = excess.keep_keys
    assert "only 1 other" in copier.call(*call, ["west"], keep[1:])[0].remove_copy
    assert "only 1 other" in copier.call(*call, ["default", "west"], [keep[0], "another"])[0].remove_copy
    other = ("remove_copy", "h", "east", "another")
    assert copier.call(*other, ["default", "west"], keep)[0].remove_copy == "gone"
    three.execute("update reaper.object_locations set verified_at = null where backend <> 'east'")
    assert "ever verified" in copier.remove_copy(excess)
    copier.report("h", "west", keep[1], None)
    copier.report("h", "default", keep[0], "corrupt")
    assert "only 1 other" in copier.remove_copy(excess)
    copier.report("h", "default", keep[0], None)
    assert copier.remove_copy(excess) == "removed"
    assert places(three, "h") == {"default", "west"}
    assert accounts(three)["east"] == (0, 10, 0)


def test_an_open_circuit_is_no_reason_to_remove_and_nothing_goes_for_it(three, writer, copier, clock):
    factor(three, 3)
    writer.put("a", "h")
    copier.replicate()
    factor(three, 2)
    fail(three, "west")
    copier.sweep()
    assert copier.claim_excess() == []
    answer(three, "west")
    clock.advance("6 minutes")
    assert copier.remove_excess() == ["removed"]


def test_the_key_of_a_content_follows_its_copies(three, writer, copier, drain, clock):
    factor(three, 2)
    writer.put("a", "h")
    copier.replicate()
    own = "select backend from reaper.object_locations join content using (content_hash, object_key)"
    home = value(three, own)
    state(three, home, "draining")
    factor(three, 1)
    copier.sweep()
    assert copier.remove_excess() == ["removed"]
    [(backend, key)] = three.execute("select backend, object_key from reaper.object_locations").fetchall()
    assert backend != home
    assert value(three, "select object_key from content") == key
    clock.advance("2 days")
    assert drain() == {key}


def test_a_drained_backend_ends_empty_and_is_removed_then_and_not_before(three, writer, copier, clock):
    factor(three, 2)
    for number in range(12):
        writer.put(f"p{number}", f"h{number}")
    copier.replicate()
    with refused("RP005", "backend west is active"):
        three.execute("select reaper.remove_backend('west', 'sold')")
    state(three, "west", "draining")
    reasons = value(three, "select reaper.attention_reasons()")
    assert any("backend west is being drained" in reason for reason in reasons)
    intent = writer.begin("new", "new")
    assert intent.backend != "west"
    writer.commit(intent.intent_id)
    with refused("RP005", "backend west is not empty: . copies"):
        three.execute("select reaper.remove_backend('west', 'sold')")
    assert set(copier.replicate()) <= {"moved", "copied"}
    assert {len(places(three, f"h{number}")) for number in range(12)} == {2}
    assert column(three, "select what from reaper.backend_remains('west')") == ["deletions queued"]
    finish_cleanup(three, clock)
    assert column(three, "select what from reaper.backend_remains('west')") == []
    three.execute("select reaper.remove_backend('west', 'sold')")
    assert set(column(three, "select name from reaper.backends")) == {"default", "east"}


KNOWS = """
select table_name
  from information_schema.columns join information_schema.tables using (table_schema, table_name)
 where table_schema = 'reaper' and column_name = 'backend' and table_type = 'BASE TABLE'
"""


def test_of_a_removed_backend_only_what_it_used_is_kept(three):
    month = "date_trunc('month', now() at time zone 'UTC')::date"
    for table, columns, values in (
        ("reconciliations", "uploads", "2"),
        ("sightings", "object_key, size_bytes, first_seen, last_seen", "'k', 1, now(), now()"),
        ("suspects", "object_key, content_hash, first_seen, next_attempt", "'k', 'h', now(), now()"),
        ("usage_limits", "what, amount", "'monthly_requests', 1"),
        ("usage_monthly", "month", month),
    ):
        three.execute(f"insert into reaper.{table} (backend, {columns}) values ('west', {values})")
    state(three, "west", "draining")
    three.execute("update reaper.sightings set retired_at = now()")
    with refused("RP005", "1 untracked objects to be deleted"):
        three.execute("select reaper.remove_backend('west', 'sold')")
    three.execute("update reaper.sightings set retired_at = null")
    three.execute("select reaper.remove_backend('west', 'sold')")
    named = [
        t
        for t in column(three, KNOWS)
        if value(three, f"select exists (select from reaper.{t} where backend = 'west')")
    ]
    assert named == ["usage_monthly"]


def test_a_backend_that_a_put_may_still_choose_is_not_removed(three, writers):
    state(three, "west", "draining")
    writer = writers()
    with writer.connection.transaction():
        writer.begin("a", "h")
        three.execute("set lock_timeout = '100ms'")
        with refused("55P03"):
            three.execute("select reaper.remove_backend('west', 'sold')")
    three.execute("select reaper.remove_backend('west', 'sold')")


def test_the_applications_own_objects_are_moved_off_the_default_backend(three, paste, copier, clock):
    paste("a", content="bare", own_key=False, expires="1 day")
    paste("b", content="named", expires="1 day")
    state(three, "default", "draining")
    assert sorted(copier.replicate()) == ["moved", "moved"]
    assert places(three, "bare") <= {"east", "west"}
    assert set(column(three, "select object_key from reaper.retired_keys")) == {"bare", "key of named"}
    finish_cleanup(three, clock)
    assert column(three, "select object_key from reaper.retired_keys") == []
    three.execute("select reaper.remove_backend('default', 'gone')")


def test_a_moved_name_is_free_only_when_its_object_is_deleted(three, paste, copier, drain, clock):
    """An application that stores the same content again by plain SQL never loses its bytes."""
    paste("a", content="bare", own_key=False, expires="1 minute")
    state(three, "default", "draining")
    copier.replicate()
    clock.advance("1 hour")
    drain()
    assert contents(three) == set()
    again = "insert into content (content_hash, ref_count, size_bytes) values ('bare', 0, 10)"
    with refused("RP004", "object bare is queued for deletion"):
        three.execute(again)
    finish_cleanup(three, clock)
    three.execute(again)
    assert value(three, "select count(*) from reaper.cleanup_queue where object_key = 'bare'") == 0


def test_where_readers_know_keys_alone_the_object_under_it_stays(three, paste, copier):
    three.execute("delete from reaper.provenance where kind = 'table'")
    with refused("RP005", "backend default cannot be drained"):
        state(three, "default", "draining")
    factor(three, 2)
    paste("a", content="h", expires="1 day")
    assert copier.replicate() == ["copied"]
    factor(three, 1)
    copier.sweep()
    assert copier.remove_excess() == ["removed"]
    assert places(three, "h") == {"default"}
    copier.report("h", "default", "key of h", "corrupt")
    assert copier.replicate() == []
    assert not three.execute("select * from reaper.begin_put('b', 'h', 10)").fetchone()[3]
    assert value(three, "select object_key from content") == "key of h"
    three.execute("update reaper.settings set readers_use_doors = true")
    assert three.execute("select * from reaper.begin_put('c', 'h', 10)").fetchone()[3]
    state(three, "default", "draining")


@pytest.fixture
def uneven(three):
    """90, 10 and 10 percent full; one object in ten is large."""
    for name in ("default", "east", "west"):
        three.execute("select reaper.set_quota(%s, 10000, 'a test')", [name])
    for number, (backend, size) in enumerate(
        [("default", 1800)] + [("default", 72)] * 100 + [("east", 100)] * 10 + [("west", 100)] * 10
    ):
        three.execute(
            """with made as (insert into content (content_hash, ref_count, size_bytes, object_key)
                             values (%(hash)s, 0, %(size)s, 'k/' || %(hash)s)),
                    copied as (insert into reaper.object_locations
                                      (content_hash, backend, object_key, size_bytes, created_at, verified_at)
                               values (%(hash)s, %(backend)s, 'k/' || %(hash)s, %(size)s, now(), now()))
               insert into reaper.byte_deltas (backend, used_bytes) values (%(backend)s, %(size)s)""",
            {"hash": f"h{number:03}", "size": size, "backend": backend},
        )
    return three


def test_the_rebalancer_spreads_until_within_the_threshold_and_then_plans_nothing(uneven, copier):
    planned = uneven.execute("select * from reaper.plan_moves()").fetchall()
    assert planned[0][1:3] == (1800, "default")
    outcomes = []
    while tasks := copier.claim_moves():
        assert {task.purpose for task in tasks} == {"move"}
        outcomes += [copier.commit_copy(task) for task in tasks]
    assert outcomes == ["moved"] * len(planned)
    used = {name: row[0] for name, row in accounts(uneven).items()}
    assert max(used.values()) - min(used.values()) <= 1000
    assert uneven.execute("select * from reaper.plan_moves()").fetchall() == []
    assert copier.claim_moves() == []


def test_nobody_waits_for_another_who_plans(uneven, copier, copiers):
    other = copiers()
    uneven.execute("delete from reaper.copy_moves")
    with other.connection.transaction():
        assert len(other.claim_moves(1)) == 1
        uneven.execute("set statement_timeout = '1s'")
        assert copier.claim_moves() == []
    assert len(copier.claim_moves(1)) == 1


def test_pack_fills_the_fullest_and_empties_the_others(uneven, copier):
    uneven.execute("update reaper.settings set rebalance_strategy = 'pack', rebalance_threshold = 0.02")
    while tasks := copier.claim_moves():
        assert {copier.commit_copy(task) for task in tasks} == {"moved"}
    used = {name: row[0] for name, row in accounts(uneven).items()}
    assert used["default"] == 9800
    assert sorted((used["east"], used["west"])) == [0, 1200]
    assert uneven.execute("select * from reaper.plan_moves()").fetchall() == []


def test_a_move_of_content_that_changed_meanwhile_ends_exact(uneven, copier):
    tasks = copier.claim_moves(4)
    uneven.execute("delete from content where content_hash = %s", [tasks[0].content_hash])
    uneven.execute(
        "with gone as (delete from reaper.object_locations where content_hash = %s returning *)"
        " insert into reaper.byte_deltas (backend, used_bytes) select backend, -size_bytes from gone",
        [tasks[0].content_hash],
    )
    assert copier.commit_copy(tasks[0]) == "content_gone"
    bad = copier.report(tasks[1].content_hash, "default", tasks[1].source_keys[0], "corrupt")
    assert bad == "recorded"
    assert copier.commit_copy(tasks[1]) == "not_needed"
    state(uneven, tasks[2].destination, "draining")
    assert copier.commit_copy(tasks[2]) == "not_needed"
    assert places(uneven, tasks[1].content_hash) == {"default?"}
    assert places(uneven, tasks[2].content_hash) == {"default"}


def test_where_content_has_another_collation_copies_are_made_moved_and_removed_all_the_same(
    three, paste, copier, writer
):
    with unbound(three):
        for table, name in (
            ("content", "content_hash"),
            ("content", "object_key"),
            ("pastes", "content_hash"),
        ):
            three.execute(f'alter table {table} alter {name} type varchar(100) collate "POSIX"')
    paste("a", content="x", expires="1 day")
    paste("b", content="y", own_key=False, expires="1 day")
    factor(three, 3)
    assert copier.replicate() == ["copied"] * 4
    [key] = column(
        three, "select object_key from reaper.object_locations where content_hash = 'x' and backend = 'west'"
    )
    assert copier.report("x", "west", key, "corrupt") == "recorded"
    assert copier.replicate() == ["repaired"]
    factor(three, 1)
    copier.sweep()
    assert copier.remove_excess() == ["removed"] * 4
    writer.put("c", "z")
    [place] = three.execute("select backend, object_key from reaper.copies_of('z')").fetchall()
    assert copier.report("z", *place, "missing") == "recorded"
    writer.put("d", "z")
    assert writer.get("c").object_key != place[1]
    for name in ("default", "east", "west"):
        three.execute("select reaper.set_quota(%s, 25, 'a test')", [name])
    state(three, "west", "draining")
    copier.replicate()
    copier.remove_excess()
    assert {*places(three, "x"), *places(three, "y")} <= {"default", "east"}
    three.execute("update reaper.settings set rebalance_strategy = 'pack'")
    outcomes = [copier.commit_copy(task) for task in copier.claim_moves()]
    assert set(outcomes) <= {"moved"}
    assert three.execute("select count(*) from reaper.copies_detail('x')").fetchone() == (1,)
