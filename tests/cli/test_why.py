"""`reaper why`: the story of one paste or content."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.support.paste_fixtures import Clock, Connection, Copies, Pastes, Worker, owe

Why = Callable[[str], list[tuple[str, str, str]]]


@pytest.fixture
def why(db: Connection) -> Why:
    """The story as (subject, event, detail)."""
    return lambda subject: [
        (row[0], row[1], row[2])
        for row in db.execute("select subject, event, detail from reaper.why(%s)", [subject])
    ]


def fate(story: list[tuple[str, str, str]], subject: str) -> str:
    """The last line of a story."""
    (found,) = [detail for about, event, detail in story if (about, event) == (subject, "now")]
    return found


def events(story: list[tuple[str, str, str]]) -> list[str]:
    return [event for _, event, _ in story]


def test_a_live_paste_is_readable_until_it_expires(paste: Pastes, why: Why) -> None:
    paste("a", content="c", expires="1 day")
    assert events(why("a")) == ["created", "expires", "now"]
    assert fate(why("a"), "paste").startswith("readable until ")


def test_a_paste_without_end_never_expires(paste: Pastes, why: Why) -> None:
    paste("a", content="c", expires=None)
    assert fate(why("a"), "paste") == "readable: it never expires"


def test_an_expired_paste_waits_for_the_drain_and_says_what_keeps_that(
    paste: Pastes, why: Why, db: Connection
) -> None:
    paste("a", content="c")
    assert "the drain is not registered: run reaper migrate" in fate(why("a"), "paste")
    db.execute("select reaper.register_service('drain', '0 0 * * *', 'deletes')")
    assert "no worker has planned a drain yet" in fate(why("a"), "paste")
    db.execute("update reaper.services set next_run_at = reaper.clock()")
    assert fate(why("a"), "paste") == "expired: the next drain is due now"
    db.execute("update reaper.services set next_run_at = reaper.clock() + interval '1 hour'")
    assert "the next drain is at" in fate(why("a"), "paste")
    db.execute("select reaper.pause('drain', '2 hours', 'month end')")
    assert fate(why("a"), "paste").endswith(": month end")
    db.execute("select reaper.resume('drain'), reaper.disable_service('drain')")
    assert "switched off" in fate(why("a"), "paste")


@pytest.mark.broken_on_purpose
def test_a_marked_paste_that_no_batch_holds_says_who_returns_it(
    paste: Pastes, why: Why, db: Connection
) -> None:
    """As an application leaves it that had a status column, and workers, before reaper."""
    paste("a", content="c")
    db.execute("update pastes set deletion_status = 'DELETION_IN_PROGRESS'")
    assert "no batch holds it; the watchdog returns it" in fate(why("a"), "paste")
    assert "select reaper.reset_strays('0')" in fate(why("a"), "paste")


def test_a_tombstone_that_is_not_expired_is_not_called_readable(
    paste: Pastes, why: Why, db: Connection
) -> None:
    paste("a", content="c", expires=None)
    db.execute("update pastes set deletion_status = 'DELETED'")
    assert fate(why("a"), "paste") == (
        "marked DELETED by the application; reaper deletes it once it is expired (it never expires)"
    )


def test_a_claimed_paste_names_its_holder_and_a_dead_one(
    paste: Pastes, me: Worker, why: Why, clock: Clock
) -> None:
    paste("a", content="c")
    me.heartbeat()
    me.claim()
    assert "claimed" in events(why("a"))
    assert "held by worker-1" in fate(why("a"), "paste")
    clock.advance("5 minutes")
    assert "the worker sends no heartbeat; the watchdog returns it" in fate(why("a"), "paste")


def test_a_refused_row_says_who_refuses(paste: Pastes, me: Worker, why: Why, db: Connection) -> None:
    paste("a", content="c")
    db.execute("create table likes (code text references pastes)")
    db.execute("insert into likes values ('a')")
    batch = me.claim()
    me.drop(batch)
    me.finish(batch)
    assert "refused" in events(why("a"))
    assert "PostgreSQL refuses to delete it" in fate(why("a"), "paste")


def test_a_deleted_paste_and_its_content_are_remembered_for_a_while(
    paste: Pastes, me: Worker, why: Why
) -> None:
    paste("a", content="c")
    batch = me.claim()
    me.drop(batch)
    assert "still deletes its objects" in fate(why("a"), "paste")
    assert "deletes its objects" in fate(why("c"), "content")
    me.finish(batch)
    assert events(why("a")) == ["claimed", "released", "finished", "now"]
    assert fate(why("a"), "paste").startswith("deleted at ")
    assert fate(why("c"), "content").startswith("deleted at ")


def test_content_is_kept_by_whoever_names_it(paste: Pastes, why: Why) -> None:
    paste("a", content="c", expires="1 day")
    assert fate(why("c"), "content") == "kept: readable pastes name it, 1 in all (a)"
    assert any(event == "copy" and "on default under key of c" in detail for _, event, detail in why("c"))


@pytest.mark.broken_on_purpose
def test_a_wrong_count_is_told_with_its_cure(paste: Pastes, why: Why, db: Connection) -> None:
    paste("a", content="c", expires="1 day")
    db.execute("update content set ref_count = 7")
    assert "ref_count of 7 is wrong: reaper verify --repair" in fate(why("c"), "content")


def test_an_owed_deletion_says_why_it_failed_and_when_it_is_tried_again(
    paste: Pastes, me: Worker, why: Why
) -> None:
    paste("a", content="c")
    batch = me.claim()
    me.drop(batch)
    me.finish(
        batch, [{"object_key": "key of c", "error": "SlowDown: later"}, {"short_code": "a", "error": "x"}]
    )
    assert "is tried again at" in fate(why("c"), "content")
    assert any(event == "deletion queued" and "SlowDown: later" in detail for _, event, detail in why("c"))
    assert fate(why("a"), "paste") == "deleted; its cache entry is queued for deletion"


def test_a_dead_letter_waits_for_an_operator(paste: Pastes, me: Worker, why: Why) -> None:
    paste("a", content="c")
    batch = me.claim()
    me.drop(batch)
    me.finish(batch, [{"object_key": "key of c", "error": "AccessDenied", "permanent": True}])
    assert fate(why("c"), "content").startswith("in the DLQ: key of c on default stays")


def test_a_put_that_was_only_begun_is_told_for_paste_and_content(why: Why, db: Connection) -> None:
    db.execute("select reaper.begin_put('a', 'c', 10, null)")
    assert fate(why("a"), "paste").startswith("not created yet")
    assert fate(why("c"), "content") == "not stored yet: a put of paste a is in progress"


def test_a_subject_that_is_code_and_hash_gets_both_stories(paste: Pastes, why: Why) -> None:
    paste("same", content="same", expires="1 day")
    assert {subject for subject, _, _ in why("same")} == {"paste", "content"}


def test_the_command_tells_the_story_and_its_end(bare_run: Run, dsn: str, paste: Pastes) -> None:
    paste("a", content="c", expires="1 day")
    told = bare_run("why", "a", REAPER_DATABASE_URL=dsn)
    assert told.code == 0
    assert told.out.splitlines()[0] == "paste"
    assert "→ readable until" in told.out.splitlines()[-1]
    machine = bare_run("why", "a", "--json", REAPER_DATABASE_URL=dsn).json
    assert machine["events"][-1]["event"] == "now"


def test_what_nobody_knows_is_refused_with_a_reason(bare_run: Run, dsn: str) -> None:
    told = bare_run("why", "stranger", REAPER_DATABASE_URL=dsn)
    assert told.code == 4
    assert "nothing is known of 'stranger'" in told.complaint[0]


def seen(run: Run, subject: str) -> set[str]:
    """What a look at backends and cache found."""
    done = run("why", subject, "--look", "--json")
    assert done.code == 0, done.err
    return set(done.json["seen"])


def test_a_look_asks_for_every_copy_under_its_own_key(
    run: Run, paste: Pastes, copy: Copies, bucket: Any
) -> None:
    paste("a", content="c")
    copy("c", "default")
    copy("c", "cold", key="second")
    bucket.put_object(Key="key of c", Body=b"x")
    assert seen(run, "c") == {
        "object key of c on default: present, 1 byte",
        "object second on cold: not looked for, the backend is not configured here",
    }
    assert "cache entry of a: absent" in seen(run, "a"), "an expired paste is looked for as well"
    assert len(seen(run, "a")) == 3


@pytest.mark.broken_on_purpose
def test_a_look_asks_for_what_is_to_be_deleted(
    run: Run, db: Connection, paste: Pastes, me: Worker, bucket: Any
) -> None:
    paste("a", content="c")
    me.drop(me.claim())
    owe(db, "queued", content_hash="c")
    owe(db, "dead", "cleanup_dlq", content_hash="c", cause="AccessDenied")
    for key in ("key of c", "dead"):
        bucket.put_object(Key=key, Body=b"x" * 2000)
    assert seen(run, "c") == {
        "object key of c on default (deletion begun): present, 2,000 bytes",
        "object queued on default (deletion queued): absent",
        "object dead on default (in the DLQ): present, 2,000 bytes",
    }
