"""check_invariants: each thing that must never be, made by hand, is found."""

import pytest

from tests.support.paste_fixtures import findings, owe

pytestmark = pytest.mark.broken_on_purpose

QUEUED = (
    "insert into reaper.cleanup_queue (backend, object_key, queued_at, next_attempt)"
    " values ('default', 'key of same', now(), now())"
)
BURIED = (
    "insert into reaper.cleanup_dlq"
    " (queue_id, backend, object_key, attempts, last_error, queued_at, buried_at)"
    " values (99, 'default', 'key of same', 1, '', now(), now())"
)
COPY = (
    "insert into reaper.object_locations (content_hash, backend, object_key, size_bytes, created_at)"
    " values ('{content}', 'default', '{key}', {size}, now());"
    "insert into reaper.byte_deltas (backend, used_bytes) values ('default', {size})"
)
UPLOAD = (
    "insert into reaper.put_intents (intent_id, short_code, content_hash, size_bytes, backend, object_key,"
    " upload_required, reserved, begun_at, next_attempt)"
    " values (gen_random_uuid(), 'b', 'same', 10, '{backend}', 'key of same', false, false, now(), now())"
)
WRONGS = {
    "ref_count equals the paste rows": "update content set ref_count = 7",
    "every paste has its content": (
        "alter table content disable trigger all; delete from content; alter table content enable trigger all"
    ),
    "every marked row is in a batch": "update pastes set deletion_status = 'DELETION_IN_PROGRESS'",
    "every claimed batch has rows": (
        "insert into reaper.batches (batch_id, short_codes, rows_claimed, claimed_at, held_since)"
        " values (gen_random_uuid(), '{}', 0, now(), now())"
    ),
    "no object key is used twice": "insert into content (content_hash) values ('key of same')",
    "no live object is to be deleted": QUEUED,
    "an object is queued for deletion once": f"{QUEUED}; {BURIED}; update content set object_key = 'other'",
    "every copy belongs to content": COPY.format(content="nobody", key="k", size=10),
    "a copy is as large as its content": COPY.format(content="same", key="key of same", size=11),
    "content with copies has one under its own key": COPY.format(content="same", key="k", size=10),
    "an upload has its name to itself": UPLOAD.format(backend="default"),
    "the accounts equal the rows": "insert into reaper.byte_deltas (backend, used_bytes) values ('east', 1)",
    "a retired name is queued for deletion": "insert into reaper.retired_keys values ('gone', now())",
    "a name that may come back is retired": (
        "insert into reaper.cleanup_queue (backend, object_key, content_hash, queued_at, next_attempt)"
        " values ('default', 'gone', 'gone', now(), now())"
    ),
    "every backend is known": QUEUED.replace("default", "nowhere"),
    "an upload has room reserved": UPLOAD.format(backend="default")
    .replace("false, false", "true, false")
    .replace("key of same", "k"),
    "what waits comes due": (
        "insert into reaper.invalidations (short_code, queued_at, next_attempt)"
        " values ('a', now(), 'infinity')"
    ),
}


@pytest.mark.parametrize(("invariant", "wrong"), WRONGS.items(), ids=WRONGS)
def test_what_must_never_be_is_found(db, paste, invariants, invariant, wrong):
    paste("a")
    assert invariants() == []
    db.execute(wrong)
    (finding,) = invariants()
    assert finding[0] == invariant
    assert all(finding)


def test_a_live_object_that_a_released_batch_wants_deleted_is_found(db, paste, claim, drop):
    paste("a")
    drop(claim())
    db.execute("alter table content disable trigger reaper_retired_key")
    db.execute("insert into content (content_hash, object_key) values ('b', 'key of same')")
    db.execute("alter table content enable trigger reaper_retired_key")
    assert [finding[0] for finding in findings(db)] == ["no live object is to be deleted"]


def test_an_upload_to_a_name_that_is_owed_a_deletion_is_found(db):
    db.execute(f"{QUEUED}; {UPLOAD.format(backend='default')}")
    assert [finding[0] for finding in findings(db)] == ["an upload has its name to itself"]


@pytest.mark.parametrize("kind", ["used", "orphan", "reserved"])
def test_every_account_that_differs_is_named_with_both_figures(db, kind):
    rows = "('east', 7), ('west', 1), ('west', -1)"
    db.execute(f"insert into reaper.byte_deltas (backend, {kind}_bytes) values {rows}")
    expected = ("the accounts equal the rows", "east", f"{kind} bytes: account 7, rows 0")
    assert findings(db) == [expected]


def test_rows_behind_which_no_account_stands_are_found(db, copy, paste):
    paste("a", expires="1 day")
    copy("same", "east")
    owe(db, "k", size_bytes=3)
    owe(db, "d", "cleanup_dlq", size_bytes=4)
    assert findings(db) == []
    db.execute("delete from reaper.byte_deltas")
    assert sorted(findings(db)) == [
        ("the accounts equal the rows", "default", "orphan bytes: account 0, rows 7"),
        ("the accounts equal the rows", "east", "used bytes: account 0, rows 10"),
    ]


def test_a_live_copy_that_is_to_be_deleted_is_found_on_its_backend(db, copy, paste):
    paste("a", expires="1 day")
    copy("same", "east")
    owe(db, "key of same", backend="west")
    db.execute("select reaper.register_backend('north')")
    db.execute(UPLOAD.format(backend="north"))
    assert findings(db) == [], "the same name on other backends is another object"
    owe(db, "key of same", backend="east")
    assert [finding[0] for finding in findings(db)] == ["no live object is to be deleted"]
