"""Copies on several backends: each of them goes, where it lies, and its bytes are accounted for."""

import threading

from tests.support.paste_fixtures import (
    accounts,
    both_claim_modes,
    codes,
    column,
    contents,
    record,
    refused,
    unbound,
    value,
)

HASH = "ab" + "0" * 62
OWN_KEY = f"ab/{HASH}/{'f' * 32}"


def objects(rows) -> set[tuple[str, str, int]]:
    return {(row.backend, row.object_key, row.size_bytes) for row in rows}


def locations(db) -> set[tuple[str, str]]:
    return set(db.execute("select content_hash, backend from reaper.object_locations").fetchall())


def retired(db) -> set[str]:
    return set(column(db, "select object_key from reaper.retired_keys"))


def test_every_copy_of_dead_content_is_to_be_deleted_where_it_lies(db, paste, copy, claim, drop, finish):
    paste("a", content="x")
    copy("x", "east")
    copy("x", "west", key="elsewhere")
    batch = claim()
    assert objects(drop(batch)) == {("east", "key of x", 10), ("west", "elsewhere", 10)}
    assert locations(db) == set()
    assert objects(drop(batch)) == {("east", "key of x", 10), ("west", "elsewhere", 10)}
    assert finish(batch)[:6] == (1, 0, 0, 2, 0, 20)


def test_content_that_an_application_stored_by_itself_lies_on_the_default_backend(paste, copy, claim, drop):
    paste("a", content="theirs")
    paste("b", content="bare", own_key=False)
    paste("c", content="ours")
    copy("ours", "east")
    assert objects(drop(claim())) == {
        ("default", "key of theirs", 10),
        ("default", "bare", 10),
        ("east", "key of ours", 10),
    }


@both_claim_modes
def test_copies_of_content_that_lives_stay(db, paste, copy, drain):
    paste("a", content="shared")
    paste("b", content="shared", expires="1 day")
    copy("shared", "east", "west")
    assert drain() == set()
    assert locations(db) == {("shared", "east"), ("shared", "west")}
    assert accounts(db) == {"east": (10, 0, 0), "west": (10, 0, 0)}


def test_bytes_are_used_then_owed_then_gone(db, paste, copy, claim, drop, finish):
    paste("a", content="x")
    paste("b", content="theirs", size=5)
    copy("x", "east", "west")
    assert accounts(db) == {"east": (10, 0, 0), "west": (10, 0, 0)}
    batch = claim()
    assert accounts(db) == {"east": (10, 0, 0), "west": (10, 0, 0)}
    drop(batch)
    assert accounts(db) == {"default": (0, 5, 0), "east": (0, 10, 0), "west": (0, 10, 0)}
    finish(batch)
    assert accounts(db) == {}


def test_bytes_that_could_not_be_deleted_stay_owed(db, paste, copy, claim, drop, finish):
    for code in "abc":
        paste(code, content=code)
        copy(code, "east", "west")
    batch = claim()
    drop(batch)
    figures = finish(
        batch,
        [
            {"backend": "east", "object_key": "key of a"},
            {"backend": "east", "object_key": "key of b", "permanent": True},
            {"backend": "west", "object_key": "key of c", "outage": True},
        ],
    )
    assert (figures.objects_deleted, figures.objects_failed, figures.bytes_freed) == (3, 3, 30)
    assert accounts(db) == {"east": (0, 20, 0), "west": (0, 10, 0)}


def test_bytes_of_a_batch_of_which_nothing_was_tried_stay_owed(db, paste, copy, claim, drop, finish):
    paste("a", content="x")
    copy("x", "east", "west")
    batch = claim()
    drop(batch)
    finish(batch, None)
    assert accounts(db) == {"east": (0, 10, 0), "west": (0, 10, 0)}
    assert value(db, "select count(*) from reaper.cleanup_queue where next_attempt = queued_at") == 2


def test_a_drop_that_is_rolled_back_leaves_copies_and_accounts(db, paste, copy, claim, drop):
    paste("a", content="x")
    copy("x", "east", "west")
    batch = claim()
    with db.transaction(force_rollback=True):
        drop(batch)
        assert locations(db) == set()
    assert locations(db) == {("x", "east"), ("x", "west")}
    assert accounts(db) == {"east": (10, 0, 0), "west": (10, 0, 0)}
    assert len(drop(batch)) == 2


def test_an_adopted_batch_has_every_copy_and_frees_its_bytes(db, paste, copy, claim, drop, worker):
    paste("a", content="x")
    copy("x", "east", "west")
    batch = claim()
    drop(batch)
    db.execute("select reaper.disown_batch(%s)", [batch])
    heir = worker("heir")
    adopted = heir.adopt()
    assert sorted(adopted.backends) == ["east", "west"]
    heir.finish(adopted.batch_id)
    assert accounts(db) == {}


def test_an_unknown_size_weighs_nothing(db, paste, claim, drop, finish):
    db.execute("alter table content alter size_bytes drop not null")
    paste("a", content="sized", size=5)
    paste("b", content="unsized", size=None)
    batch = claim()
    drop(batch)
    assert accounts(db) == {"default": (0, 5, 0)}
    finish(batch)
    assert accounts(db) == {}


def test_sizes_beyond_all_measure_keep_no_batch_from_going(db, paste, claim, drop, finish):
    paste.many("huge", 3, size=2**63 - 1)
    batch = claim()
    assert len(drop(batch)) == 3
    assert finish(batch).bytes_freed == 2**63 - 1
    assert accounts(db) == {}


def test_a_row_that_cannot_go_keeps_its_copies_and_their_bytes(db, paste, copy, claim, drop):
    db.execute("create table comments (code text references pastes)")
    for code in ("free", "held"):
        paste(code, content=code)
        copy(code, "east")
    db.execute("insert into comments values ('held')")
    assert objects(drop(claim())) == {("east", "key of free", 10)}
    assert locations(db) == {("held", "east")}
    assert accounts(db) == {"east": (10, 10, 0)}


def test_content_that_a_trigger_keeps_keeps_its_copies(db, paste, copy, claim, drop):
    paste("a", content="x")
    copy("x", "east")
    db.execute(
        "create function keep() returns trigger language plpgsql as 'begin return null; end';"
        "create trigger keep before delete on content for each row execute function keep()"
    )
    assert drop(claim()) == []
    assert (contents(db), locations(db)) == ({"x"}, {("x", "east")})
    assert accounts(db) == {"east": (10, 0, 0)}
    db.execute("update content set ref_count = 0")


@both_claim_modes
def test_an_object_of_the_same_name_on_another_backend_is_another_object(db, paste, copy, drain):
    paste("a", content="x")
    paste("b", content="y", expires="1 day")
    copy("x", "east", "west")
    copy("y", "east")
    copy("y", "west", key="elsewhere")
    copy("y", "north", key="key of x")
    assert drain() == {"key of x"}
    assert locations(db) == {("y", "east"), ("y", "west"), ("y", "north")}


def test_a_copy_under_a_name_that_living_content_has_there_is_kept(db, paste, copy, claim, drop):
    paste("a", content="x")
    paste("b", content="y", expires="1 day", own_key=False)
    copy("x", "north")
    copy("x", "default", "east", key="y")
    assert objects(drop(claim())) == {("north", "key of x", 10), ("east", "y", 10)}, (
        "default/y is the content y"
    )
    assert accounts(db) == {"north": (0, 10, 0), "east": (0, 10, 0)}


def test_a_name_that_may_come_back_is_retired_until_its_last_copy_is_gone(
    db, paste, copy, claim, drop, finish
):
    paste("a", content="abc123", own_key=False)
    copy("abc123", "east", "west")
    batch = claim()
    drop(batch)
    assert retired(db) == {"abc123"}
    finish(batch, [{"backend": "west", "object_key": "abc123"}])
    assert retired(db) == {"abc123"}
    with refused("RP004"):
        db.execute("insert into content (content_hash) values ('abc123')")


def test_of_two_that_settle_the_last_two_copies_at_once_the_later_one_frees_the_name(
    db, paste, copy, claim, drop, finish, worker, waits
):
    paste("a", content="abc123", own_key=False)
    copy("abc123", "east", "west")
    batch = claim()
    drop(batch)
    finish(batch, None)
    earlier, later = worker("earlier"), worker("later")
    [east] = earlier.call("claim_cleanup", 1, "east")
    [west] = later.call("claim_cleanup", 1, "west")
    with earlier.connection.transaction():
        earlier.call("finish_cleanup", east.lease, "[]")
        settling = threading.Thread(target=later.call, args=("finish_cleanup", west.lease, "[]"))
        settling.start()
        waits(later.connection)
    settling.join()
    assert retired(db) == set()


def test_copies_under_a_random_key_are_never_retired(db, paste, copy, claim, drop):
    paste("a", content=HASH)
    db.execute("update content set object_key = %s", [OWN_KEY])
    copy(HASH, "east", "west")
    drop(claim())
    assert retired(db) == set()


def test_where_content_has_another_collation_its_copies_are_found_all_the_same(db, paste, copy, claim, drop):
    with unbound(db):
        for table, name in (
            ("content", "content_hash"),
            ("content", "object_key"),
            ("pastes", "content_hash"),
        ):
            db.execute(f'alter table {table} alter {name} type varchar(100) collate "POSIX"')
    paste("a", content="x")
    paste("b", content="y", own_key=False)
    copy("x", "east", "west")
    assert objects(drop(claim())) == {
        ("east", "key of x", 10),
        ("west", "key of x", 10),
        ("default", "y", 10),
    }


def test_a_thousand_contents_with_two_copies_each_go_in_one_batch(db, paste, claim, drop, finish):
    paste.many("p", 1000)
    db.execute("select reaper.register_backend('east'), reaper.register_backend('west')")
    db.execute(
        "insert into reaper.object_locations select c.content_hash, b, 'key of ' || c.content_hash, 10, now()"
        "  from content c cross join unnest(array['east', 'west']) as b"
    )
    db.execute("insert into reaper.byte_deltas (backend, used_bytes) values ('east', 10000), ('west', 10000)")
    batch = claim()
    assert len(drop(batch)) == 2000
    assert accounts(db) == {"east": (0, 10000, 0), "west": (0, 10000, 0)}
    assert finish(batch)[3:6] == (2000, 0, 20000)
    assert (accounts(db), codes(db)) == ({}, set())


@both_claim_modes
def test_one_batch_adds_a_handful_of_rows_to_the_accounts_however_many_objects_it_has(db, paste, copy, drain):
    paste.many("p", 100)
    copy("p00001", "east")
    before = value(db, "select count(*) from reaper.byte_deltas")
    drain()
    assert value(db, "select count(*) from reaper.byte_deltas") - before <= 5
    assert record(
        db, "select sum(used_bytes) as used, sum(orphan_bytes) as orphan from reaper.byte_deltas"
    ) == (0, 0)
