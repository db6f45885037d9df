"""`reaper verify`: rows, objects and cache, both ways."""

from typing import Any

import pytest
from moto.s3.models import s3_backends

from reaper.model import StoredObject
from reaper.ops import verify
from reaper.ops.verify import side_by_side
from reaper.queries.checks import ExpectedObject
from tests.cli.conftest import Run
from tests.support.paste_fixtures import Clock, Connection, Pastes, Worker, contents, refs

ACCOUNT = "123456789012"


def put(bucket: Any, *keys: str, body: bytes = b"0123456789") -> None:
    """Store objects past HTTP: this process is the server."""
    for key in keys:
        s3_backends[ACCOUNT]["aws"].put_object(bucket.name, key, body)


def counts(run: Run, *arguments: str) -> dict[str, int]:
    done = run("verify", "--json", *arguments)
    assert done.code == (1 if done.json["counts"] else 0), done.err
    assert done.json["clean"] == (not done.json["counts"])
    return done.json["counts"]  # type: ignore[no-any-return]


@pytest.fixture(autouse=True)
def _no_writer_is_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "GRACE", 0.0)


@pytest.fixture
def agreeing(paste: Pastes, bucket: Any, entries: Any) -> None:
    """Two live pastes, one with its object under the bare hash, and a due one that is cached."""
    paste("live", content="a", expires="+1 day")
    paste("bare", content="b", expires=None, own_key=False)
    paste("due", content="c", expires="-1 hour")
    put(bucket, "key of a", "b", "key of c")
    entries.mset({"paste:live": 1, "paste:due": 1, "somebody else's": 1})


@pytest.mark.usefixtures("agreeing")
def test_what_agrees_is_said_to_agree_and_nothing_is_changed(
    run: Run, db: Connection, bucket: Any, entries: Any
) -> None:
    before = db.execute("select xmin::text, * from content order by 2").fetchall()
    done = run("verify")
    assert (done.code, done.err) == (0, "")
    assert "database, buckets and cache agree" in done.out
    assert "3 objects, 3 copies, 2 cache entries, 1 waiting for the drain" in done.out
    assert db.execute("select xmin::text, * from content order by 2").fetchall() == before
    assert {o.key for o in bucket.objects.all()} == {"key of a", "b", "key of c"}
    assert entries.dbsize() == 3


@pytest.mark.usefixtures("agreeing")
def test_verify_works_with_the_role_of_a_worker(run: Run, worker_dsn: str) -> None:
    assert run("verify", "--repair", "--database-url", worker_dsn).code == 0


@pytest.mark.usefixtures("agreeing")
def test_a_missing_object_is_found_with_the_live_pastes_that_it_hits(run: Run, bucket: Any) -> None:
    bucket.Object("key of a").delete()
    bucket.Object("b").delete()
    done = run("verify")
    assert done.code == 1
    assert "missing object: 2" in done.out
    assert "    key of a: a, the content of 1 live pastes (live)" in done.out
    assert "    b: b, the content of 1 live pastes (bare)" in done.out


@pytest.mark.usefixtures("agreeing")
def test_an_orphan_is_an_object_that_neither_content_nor_a_queue_names(
    run: Run, bucket: Any, paste: Pastes, me: Worker
) -> None:
    paste.many("owed", 3, expires="-1 hour")
    put(bucket, "key of owed00001", "key of owed00002", "key of owed00003", "key of nobody")
    batch = me.claim(2)
    me.drop(batch)
    me.finish(batch, None)
    me.drop(me.claim(1))
    assert counts(run) == {"orphan object": 1}


@pytest.mark.usefixtures("entries")
def test_a_wrong_size_is_found_where_the_size_is_known(run: Run, bucket: Any, paste: Pastes) -> None:
    paste("known", content="known", expires=None, size=10)
    paste("unknown", content="unknown", expires=None, size=0)
    put(bucket, "key of known", "key of unknown", body=b"123")
    assert counts(run) == {"wrong size": 1}


@pytest.mark.usefixtures("agreeing")
def test_a_stale_entry_is_one_whose_paste_is_gone_and_that_nobody_is_going_to_remove(
    run: Run, entries: Any, db: Connection, clock: Clock
) -> None:
    entries.mset({"paste:gone": 1, "paste:queued": 1})
    db.execute("insert into reaper.invalidations values ('queued', 1, 'away', now(), now())")
    assert counts(run) == {"stale cache entry": 1}
    clock.advance("27 hours")
    done = run("verify")
    assert "due: its paste expired over 26 hours ago" in done.out
    assert "live: its paste expired" not in done.out


def test_keys_that_may_be_another_programs_are_counted_and_not_judged(
    run: Run, paste: Pastes, bucket: Any, entries: Any
) -> None:
    paste("live", content="a", expires=None)
    put(bucket, "key of a")
    entries.mset({"live": 1, "a session": 1, b"\xff\xfe": 1})
    done = run("verify", "--json", REAPER_CACHE_KEY="{short_code}")
    assert (done.code, done.json["seen"]["unjudged"]) == (0, 1)


@pytest.mark.parametrize("template", ["[p]*?{short_code}\\", "{short_code}", "a{short_code}b{short_code}c"])
def test_entries_are_found_whatever_the_key_looks_like(
    template: str, run: Run, entries: Any, db: Connection
) -> None:
    db.execute("insert into content (content_hash, size_bytes) values ('x', 0)")
    db.execute("insert into pastes values ('c{1}', 'x', now(), now() - interval '2 days')")
    entries.set(template.replace("{short_code}", "c{1}"), 1)
    done = run("verify", "--json", REAPER_CACHE_KEY=template)
    assert [f["subject"] for f in done.json["findings"] if f["kind"] == "stale cache entry"] == ["c{1}"]


@pytest.mark.usefixtures("agreeing")
def test_without_redis_the_cache_is_not_looked_at_which_is_said_and_no_finding(run: Run) -> None:
    done = run("verify", REAPER_REDIS_URL="redis://127.0.0.1:1/0")
    assert done.code == 0
    assert "cache not checked: Redis does not answer" in done.out


@pytest.mark.broken_on_purpose
@pytest.mark.usefixtures("agreeing")
def test_a_broken_invariant_is_a_finding(run: Run, db: Connection) -> None:
    db.execute("update content set ref_count = 5 where content_hash = 'a'")
    done = run("verify")
    assert done.code == 1
    assert "ref_count equals the paste rows: 1" in done.out
    assert "a: ref_count is 5, number of paste rows is 1" in done.out


@pytest.mark.usefixtures("agreeing")
def test_repair_sets_counts_right_and_says_which(run: Run, db: Connection) -> None:
    db.execute("update content set ref_count = 5 where content_hash = 'a'")
    db.execute("update content set ref_count = 0 where content_hash = 'b'")
    done = run("verify", "--repair")
    assert done.code == 0
    assert "repaired    a: ref_count 5 → 1" in done.out
    assert "repaired    b: ref_count 0 → 1" in done.out
    assert (refs(db, "a"), refs(db, "b"), contents(db)) == (1, 1, {"a", "b", "c"})


@pytest.mark.usefixtures("agreeing")
def test_repair_sets_byte_accounts_right_and_says_which(run: Run, db: Connection) -> None:
    db.execute("insert into reaper.byte_deltas (backend, orphan_bytes) values ('default', 1234)")
    assert "default: orphan bytes: account 1234, rows 0" in run("verify").out
    done = run("verify", "--repair")
    assert done.code == 0
    assert "repaired    default: orphan bytes 1,234 → 0" in done.out


@pytest.mark.usefixtures("agreeing")
def test_after_a_restore_lost_content_is_named_with_its_pastes_and_what_to_do(run: Run, bucket: Any) -> None:
    bucket.Object("key of a").delete()
    done = run("verify", "--after-restore")
    assert done.code == 1
    assert "key of a: a, the content of 1 live pastes (live)" in done.out
    assert "Before the application" in done.out
    lost = run("verify", "--after-restore", "--json").json["lost"]
    (found,) = lost
    assert (found["content_hash"], found["backend"], found["object_key"]) == ("a", "default", "key of a")
    assert (found["live_pastes"], found["examples"]) == (1, ["live"])


@pytest.mark.usefixtures("agreeing")
def test_what_the_report_advises_after_a_restore_makes_all_agree_again(
    run: Run, bucket: Any, db: Connection
) -> None:
    bucket.Object("key of a").delete()
    db.execute("update public.pastes set expires_at = now() where content_hash in ('a')")
    assert run("drain").code == 0
    assert counts(run) == {}


@pytest.mark.usefixtures("entries")
def test_many_pages_of_objects_and_rows_are_merged_in_byte_order(
    run: Run, bucket: Any, db: Connection
) -> None:
    db.execute(
        "insert into content (content_hash, object_key, ref_count)"
        " select 'h' || i, case when i % 3 > 0 then md5(i::text) end, 0 from generate_series(1, 1205) as i"
    )
    keys = [row[0] for row in db.execute("select coalesce(object_key, content_hash) from content")]
    put(bucket, *[key for key in keys if key not in ("h3", "h999")], "é", "~")
    assert counts(run) == {"missing object": 2, "orphan object": 2}


def test_pairs_are_in_order_and_complete() -> None:
    stored = iter([StoredObject("a", 1), StoredObject("b", 1), StoredObject("é", 1)])
    expected = iter(
        [ExpectedObject("B", None, ""), ExpectedObject("b", None, ""), ExpectedObject("é", None, "")]
    )
    pairs = [(a and a.key, b and b.object_key) for a, b in side_by_side(stored, expected)]
    assert pairs == [(None, "B"), ("a", None), ("b", "b"), ("é", "é")]
