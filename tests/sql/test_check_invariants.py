"""check_invariants: each thing that must never be, made by hand, is found."""

import pytest

from tests.paste_fixtures import findings

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
NO_FOREIGN_KEY = "alter table pastes drop constraint pastes_content_hash_fkey; "
WRONGS = {
    "ref_count equals the paste rows": "update content set ref_count = 7",
    "every paste has its content": NO_FOREIGN_KEY + "delete from content",
    "every marked row is in a batch": "update pastes set deletion_status = 'DELETION_IN_PROGRESS'",
    "no row is left DELETED": "update pastes set deletion_status = 'DELETED'",
    "every claimed batch has rows": (
        "insert into reaper.batches (batch_id, short_codes, rows_claimed, claimed_at, held_since)"
        " values (gen_random_uuid(), '{}', 0, now(), now())"
    ),
    "no object key is used twice": "insert into content (content_hash) values ('key of same')",
    "no live object is to be deleted": QUEUED,
    "an owed deletion is written down once": f"{QUEUED}; {BURIED}; update content set object_key = 'other'",
    "a retired name is owed a deletion": "insert into reaper.retired_keys values ('gone', now())",
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
    assert [finding[0] for finding in findings(db)] == ["no live object is to be deleted"]
