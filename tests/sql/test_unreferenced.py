"""Content that no paste names: listed, and collected through the release path of every drop."""

import pytest

from tests.support.paste_fixtures import (
    accounts,
    codes,
    column,
    contents,
    findings,
    record,
    refs,
    refused,
    value,
)
from tests.support.query_plans import flat, pages

HASH = "c" * 64


@pytest.fixture
def left_behind(db, paste):
    """Contents whose pastes an application deleted by itself, stored so long ago."""

    def leave(*names: str, age: str = "8 days", count: int = 0, own_key: bool = True) -> None:
        for name in names:
            paste(name, content=name, expires=None, own_key=own_key)
            db.execute("delete from pastes where short_code = %s", [name])
            db.execute(
                "update content set ref_count = %s, created_at = reaper.clock() - %s::interval"
                " where content_hash = %s",
                [count, age, name],
            )

    return leave


@pytest.fixture
def collect(me):
    """One page: (looked at, collected, refused)."""
    return lambda *arguments: tuple(me.call("collect_unreferenced", *arguments)[0])


def listed(db, *age) -> set[str]:
    places = ", ".join(["%s"] * len(age))
    return set(column(db, f"select content_hash from reaper.unreferenced_content({places})", *age))


def owed(db) -> set[tuple[str, str]]:
    """Backend and key of what released batches still have to delete."""
    rows = db.execute("select unnest(object_backends), unnest(object_keys) from reaper.batches")
    return set(rows.fetchall())


def test_old_content_that_no_paste_names_is_listed_and_collected(db, paste, left_behind, collect):
    left_behind("old")
    left_behind("young", age="6 days")
    paste("named", content="named", expires=None)
    db.execute("update content set created_at = '2020-01-01' where content_hash = 'named'")
    assert listed(db) == {"old"}
    assert collect() == (3, 1, 0)
    assert contents(db) == {"young", "named"}
    assert owed(db) == {("default", "key of old")}
    assert collect() == (2, 0, 0)


def test_the_age_is_the_callers_choice(db, left_behind, collect):
    left_behind("older", age="2 hours")
    left_behind("younger", age="30 minutes")
    assert listed(db, "1 hour") == {"older"}
    assert collect(1000, "1 hour") == (2, 1, 0)
    assert collect(1000, "0") == (1, 1, 0)


def test_content_of_unknown_age_is_in_doubt_and_left(db, left_behind, collect):
    left_behind("unknown")
    db.execute("alter table content alter created_at drop not null; update content set created_at = null")
    assert listed(db) == set()
    assert collect() == (1, 0, 0)


def test_content_from_before_the_column_that_reaper_added_is_as_old_as_the_column(
    db, left_behind, collect, clock
):
    left_behind("unknown")
    db.execute("alter table content alter created_at drop not null; update content set created_at = null")
    db.execute("insert into reaper.provenance values ('column', 'public.content', 'created_at')")
    assert listed(db) == set()
    clock.advance("8 days")
    assert listed(db) == {"unknown"}
    assert collect() == (1, 1, 0)


def test_an_expired_paste_that_is_still_there_names_its_content(db, paste, collect):
    paste("a", expires="-30 days")
    db.execute("update content set created_at = '2020-01-01'")
    assert listed(db) == set()
    assert collect() == (1, 0, 0)


def test_its_objects_are_in_a_batch_that_the_next_worker_adopts(db, left_behind, copy, collect, drain):
    left_behind("x", "bare", own_key=False)
    copy("x", "east", "west")
    collect()
    assert owed(db) == {("east", "x"), ("west", "x"), ("default", "bare")}
    assert accounts(db) == {"east": (0, 10, 0), "west": (0, 10, 0), "default": (0, 10, 0)}
    with refused("RP004"):
        db.execute("insert into content (content_hash) values ('bare')")
    assert drain() == {"x", "bare"}
    assert accounts(db) == {}
    row = record(db, "select rows_claimed, rows_deleted, objects_deleted, content_hashes from reaper.runs")
    assert (row.rows_claimed, row.rows_deleted, row.objects_deleted) == (0, 0, 3)
    assert set(row.content_hashes) == {"x", "bare"}
    db.execute("insert into content (content_hash) values ('bare')")


def test_a_count_that_was_not_zero_is_written_down_and_the_rows_are_believed(db, left_behind, collect):
    left_behind("counted", count=3)
    left_behind("right")
    assert {row[0] for row in findings(db)} == {"ref_count equals the paste rows"}
    assert collect() == (2, 2, 0)
    drift = db.execute("select content_hash, expected, found, action from reaper.drift").fetchall()
    assert drift == [("counted", 3, 0, "collected")]


def test_a_run_without_pastes_says_nothing_about_the_speed_of_drains(db, left_behind, collect, drain):
    left_behind("x")
    collect()
    drain()
    assert record(db, "select batches, rows_per_second from reaper.recent_speed()") == (0, None)


def test_a_pass_goes_page_by_page_and_begins_again_at_its_end(db, left_behind, collect):
    left_behind(*"abcde")
    assert (collect(2), contents(db)) == ((2, 2, 0), {*"cde"})
    left_behind("_")
    assert (collect(2), contents(db)) == ((2, 2, 0), {*"_e"})
    assert (collect(2), contents(db)) == ((1, 1, 0), {"_"})
    assert (collect(2), contents(db)) == ((1, 1, 0), set())
    assert collect(2) == (0, 0, 0)


def test_nothing_to_collect_makes_no_batch(db, paste, collect):
    paste("a", expires=None)
    collect()
    assert value(db, "select count(*) from reaper.batches") == 0


def test_a_collection_that_is_rolled_back_never_was(db, left_behind, copy, collect):
    left_behind("x")
    copy("x", "east")
    with db.transaction(force_rollback=True):
        assert collect() == (1, 1, 0)
    assert (contents(db), owed(db), accounts(db)) == ({"x"}, set(), {"east": (10, 0, 0)})
    assert value(db, "select after from reaper.unreferenced_scan") == ""


def test_content_to_which_a_paste_is_being_inserted_is_not_waited_for_and_not_taken(
    left_behind, worker, collect
):
    left_behind("x")
    writer = worker("writer").connection
    with writer.transaction(force_rollback=True):
        writer.execute("insert into pastes (short_code, content_hash) values ('new', 'x')")
        assert collect() == (1, 0, 0)
    assert collect() == (1, 1, 0)


def test_a_paste_that_comes_between_the_look_and_the_lock_keeps_its_content(db, left_behind, collect):
    left_behind("x")
    db.execute(
        "create or replace function reaper_internal.lock_contents(p_hashes text[], p_wait boolean)"
        " returns reaper.locked_contents"
        " language plpgsql security definer set search_path = pg_catalog, reaper, pg_temp as $$ begin"
        " insert into public.pastes (short_code, content_hash) values ('new', 'x');"
        " return row(p_hashes, null::tid[], null::bigint[], '{}'::text[]); end $$"
    )
    assert collect() == (1, 0, 0), "refused by the foreign key would be too late"
    assert (codes(db), contents(db)) == ({"new"}, {"x"})
    db.execute("update content set ref_count = 1")


def test_content_that_something_else_names_stays_and_keeps_nothing_else_back(db, left_behind, collect):
    left_behind(*"abcdefg")
    db.execute("create table thumbnails (hash text references content deferrable initially deferred)")
    db.execute("insert into thumbnails values ('b'), ('f')")
    assert collect() == (7, 5, 2)
    assert contents(db) == {"b", "f"}
    assert {key for _, key in owed(db)} == {f"key of {name}" for name in "acdeg"}


def test_content_that_a_trigger_keeps_keeps_its_object(db, left_behind, collect):
    left_behind("x")
    db.execute(
        "create function keep() returns trigger language plpgsql as 'begin return null; end';"
        "create trigger keep before delete on content for each row execute function keep()"
    )
    assert collect() == (1, 0, 0)
    assert (contents(db), owed(db)) == ({"x"}, set())


def test_a_put_that_counted_on_the_content_uploads_it_itself(db, paste, me, collect):
    paste("a", content=HASH, expires=None)
    [intent] = me.call("begin_put", "b", HASH, 10)
    assert not intent.upload_required
    db.execute("delete from pastes; update content set ref_count = 0, created_at = '2020-01-01'")
    assert collect() == (1, 1, 0)
    with refused("RP002"):
        me.call("commit_put", intent.intent_id, False)
    [stored] = me.call("commit_put", intent.intent_id, True)
    assert stored.object_key == intent.object_key
    assert refs(db, HASH) == 1


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_other_isolation_levels_are_refused(db, left_behind, collect, level):
    left_behind("x")
    with refused("RP006", level), db.transaction():
        db.execute(f"set transaction isolation level {level}")
        collect()
    assert contents(db) == {"x"}


@pytest.mark.parametrize("arguments", [(0,), (10_001,), (None,), (10, None), (10, "-1 day")])
def test_what_makes_no_sense_is_refused(left_behind, collect, arguments):
    left_behind("x")
    with refused("RP005"):
        collect(*arguments)


def test_an_age_in_the_future_is_refused_in_the_listing_too(db):
    with refused("RP005"):
        listed(db, "-1 day")


def test_what_objects_are_deleted_for_is_durable_even_in_a_careless_session(db, left_behind, collect):
    left_behind("x")
    db.execute("set synchronous_commit = off")
    with db.transaction():
        collect()
        assert value(db, "show synchronous_commit") == "on"


def test_a_page_reads_no_more_in_a_large_table_than_in_a_small_one(db, paste):
    db.execute("alter table pastes set (autovacuum_enabled = false)")
    db.execute("alter table content set (autovacuum_enabled = false); analyze pastes, content")
    measured = []
    for name, rows in (("small", 500), ("large", 50_000)):
        paste.many(name, rows, expires=None)
        db.execute("update reaper.unreferenced_scan set after = ''")
        query = "select * from reaper.collect_unreferenced(100)"
        measured.append(min(pages(db, query) for _ in range(3)))
    assert flat(*measured), measured
