"""Objects under their bare hash: the name may not be taken again before the object is known to be gone."""

import pytest

from tests.support.paste_fixtures import both_claim_modes, column, contents, refused


def retired(db):
    return set(column(db, "select object_key from reaper.retired_keys"))


@pytest.fixture
def released(paste, claim, drop):
    """A released batch whose only object is named by its hash, abc123."""
    paste("a", content="abc123", own_key=False)
    batch = claim()
    drop(batch)
    return batch


def put(db, content_hash, object_key):
    db.execute("insert into content (content_hash, object_key) values (%s, %s)", [content_hash, object_key])


@pytest.mark.parametrize("key", [None, "abc123"])
@pytest.mark.usefixtures("released")
def test_the_bare_name_is_refused_while_its_deletion_is_pending(db, key):
    assert retired(db) == {"abc123"}
    with refused("RP004", "object abc123 is queued for deletion") as refusal:
        put(db, "abc123", key)
    assert "new object_key" in refusal.value.diag.message_hint
    assert contents(db) == set()


@pytest.mark.usefixtures("released")
def test_the_same_content_under_a_key_of_its_own_is_welcome(db):
    put(db, "abc123", "ab/abc123/0f0f")
    assert contents(db) == {"abc123"}


@pytest.mark.usefixtures("released")
def test_other_bare_names_are_free(db):
    put(db, "def456", None)
    assert contents(db) == {"def456"}


def test_the_name_is_free_again_when_the_object_is_confirmed_gone(db, released, finish):
    finish(released)
    assert retired(db) == set()
    put(db, "abc123", None)


@pytest.mark.parametrize(
    "failed", [None, [{"object_key": "abc123"}], [{"object_key": "abc123", "permanent": True}]]
)
def test_the_name_stays_retired_while_the_deletion_is_owed(db, released, finish, failed):
    finish(released, failed)
    assert retired(db) == {"abc123"}
    with refused("RP004"):
        put(db, "abc123", None)


def test_a_failed_cache_entry_does_not_keep_the_name_retired(db, released, finish):
    finish(released, [{"short_code": "a"}])
    assert retired(db) == set()


OWN_KEY = "left(content_hash, 2) || '/' || content_hash || '/' || md5(random()::text)"


def test_objects_with_a_random_key_of_their_own_are_never_retired(db, paste, claim, drop):
    paste("a")
    db.execute(f"update content set object_key = {OWN_KEY}")
    drop(claim())
    assert retired(db) == set()


def test_a_name_that_the_application_makes_from_the_hash_is_retired_like_the_hash(
    db, paste, claim, drop, finish
):
    paste("a", content="abc123")
    db.execute("update content set object_key = 'objects/' || content_hash")
    batch = claim()
    drop(batch)
    again = "insert into content (content_hash, object_key) values ('abc123', 'objects/abc123')"
    with refused("RP004"):
        db.execute(again)
    finish(batch)
    db.execute(again)


def test_a_retired_name_cannot_be_taken_by_an_update_or_by_other_content(db, paste, claim, drop):
    paste("a", content="abc123", own_key=False)
    paste("b", content="other", expires="1 day")
    drop(claim())
    for take in (
        "update content set object_key = 'abc123'",
        "insert into content (content_hash, object_key) values ('third', 'abc123')",
    ):
        with refused("RP004"):
            db.execute(take)


@both_claim_modes
@pytest.mark.broken_on_purpose
def test_an_object_that_two_contents_name_goes_with_the_last_of_them(db, paste, drain):
    paste("a", content="x", expires="-1 hour")
    paste("b", content="y", expires="1 day", own_key=False)
    db.execute("update content set object_key = 'y' where content_hash = 'x'")
    assert drain() == set(), "the live content y needs it"
    db.execute("update content set ref_count = 2")


def test_a_key_that_is_the_hash_by_name_is_retired_like_no_key(db, paste, claim, drop):
    paste("a", content="abc123")
    db.execute("update content set object_key = content_hash")
    drop(claim())
    assert retired(db) == {"abc123"}


def test_an_adopted_batch_frees_the_name_too(db, released, worker):
    db.execute("select reaper.disown_batch(%s)", [released])
    heir = worker("heir")
    heir.finish(heir.adopt().batch_id)
    assert retired(db) == set()


@both_claim_modes
def test_content_that_survives_keeps_its_bare_name(db, paste, drain):
    paste("a", content="abc123", own_key=False)
    paste("b", content="abc123", own_key=False, expires="1 day")
    drain()
    assert retired(db) == set()
