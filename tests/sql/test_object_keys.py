"""The sample of object keys that is looked for before the first deletion, and what a look decides."""

import psycopg
import pytest

from tests.conftest import Connect
from tests.support.paste_fixtures import Connection, Copies, Pastes, column, record, refused, value

ADOPTED = "update reaper.bindings set keys_confirmed = null, keys_checked = null where name = 'content'"
SAMPLE = "select content_hash from reaper.sample_keys(%s)"


def test_a_small_table_is_sampled_whole_and_by_chance(db: Connection, paste: Pastes) -> None:
    paste.many("a", 50)
    assert len(set(column(db, SAMPLE, 100))) == 50
    assert column(db, SAMPLE, 50) != column(db, SAMPLE, 50)


def test_a_key_is_the_hash_where_none_is_named(db: Connection, paste: Pastes) -> None:
    paste("a", content="bare", own_key=False)
    paste("b", content="named", size=7)
    rows = db.execute("select * from reaper.sample_keys() order by content_hash").fetchall()
    assert rows == [("bare", "default", "bare", 10), ("named", "default", "key of named", 7)]


def test_content_of_live_pastes_comes_first(db: Connection, paste: Pastes) -> None:
    paste.many("due", 200)
    paste.many("live", 5, expires="+1 day")
    paste("for ever", content="for ever", expires=None)
    assert set(column(db, SAMPLE, 6)) == {*(f"live0000{n}" for n in range(1, 6)), "for ever"}


def test_content_that_reaper_stored_is_left_out(db: Connection, paste: Pastes, copy: Copies) -> None:
    paste.many("a", 3)
    copy("a00001", "default")
    copy("a00002", "cold")
    assert column(db, SAMPLE, 100) == ["a00003"]


def test_a_few_contents_of_unknown_origin_are_found_among_those_that_are_due(
    db: Connection, paste: Pastes
) -> None:
    """Where nearly all was stored by reaper, no sampled page may have one of the others."""
    paste("old", content="old", expires="-2 days")
    paste.many("a", 300)
    db.execute(
        "with stored as (insert into reaper.object_locations"
        " select content_hash, 'default', object_key, 10, now() from content where content_hash <> 'old'"
        " returning size_bytes)"
        " insert into reaper.byte_deltas (backend, used_bytes) select 'default', sum(size_bytes) from stored"
    )
    assert column(db, SAMPLE, 1) == ["old"]


def test_a_sample_of_a_large_table_reads_some_of_its_pages(db: Connection) -> None:
    db.execute(
        "insert into content (content_hash, object_key, ref_count)"
        " select 'h' || n, 'k' || n, 0 from generate_series(1, 200000) as n"
    )
    pages = value(db, "select pg_relation_size('content') / 8192")
    db.execute("select pg_stat_force_next_flush()")
    before = value(
        db, "select heap_blks_read + heap_blks_hit from pg_statio_user_tables where relname = 'content'"
    )
    assert len(column(db, SAMPLE, 100)) == 100
    db.execute("select pg_stat_force_next_flush()")
    after = value(
        db, "select heap_blks_read + heap_blks_hit from pg_statio_user_tables where relname = 'content'"
    )
    # A page for its addresses, and its rows by their addresses.
    assert after - before <= 100 + 1000 < pages


def test_without_a_binding_nothing_is_sampled(db: Connection, paste: Pastes) -> None:
    paste("a")
    db.execute("select reaper.unbind()")
    assert column(db, SAMPLE, 100) == []
    db.execute("select reaper.bind()")


@pytest.mark.parametrize(("looked", "found"), [(None, 0), (1, None), (1, 2), (1, -1), (-1, -1)])
def test_a_result_that_cannot_be_is_refused(db: Connection, looked: int | None, found: int | None) -> None:
    with refused("RP005", "invalid result of a look"):
        db.execute("select reaper.record_key_check(%s, %s, null)", [looked, found])


def test_a_look_is_written_down_in_words_and_audited_where_it_stops_or_frees_claims(db: Connection) -> None:
    db.execute(ADOPTED)
    for found, words in [
        (0, "0 of 3 objects were found, one that was not: k"),
        (3, "3 of 3 objects were found"),
    ]:
        db.execute("select reaper.record_key_check(3, %s, 'k')", [found])
        state = record(db, "select keys_confirmed, keys_checked from reaper.bindings where name = 'content'")
        assert (state.keys_confirmed, state.keys_checked) == (found == 3, words)
    audited = db.execute("select subject, detail from reaper.audit where action = 'check keys' order by at")
    assert [row[1][:6] for row in audited.fetchall()] == ["0 of 3", "3 of 3"]


def test_a_drain_from_psql_says_that_it_was_not_looked_yet(
    connect: Connect, db: Connection, paste: Pastes
) -> None:
    paste("a")
    db.execute(ADOPTED)
    said: list[str] = []
    connection = connect()
    connection.add_notice_handler(lambda notice: said.append(notice.message_primary or ""))
    connection.execute("call reaper.drain()")
    assert said[0] == (
        "it was not looked yet whether objects lie under the object keys of public.content: run reaper doctor"
    )
    assert len([text for text in said if "looked" in text]) == 1


@pytest.mark.broken_on_purpose
def test_a_drain_from_psql_is_refused_where_no_object_was_found(db: Connection, paste: Pastes) -> None:
    paste("a")
    db.execute(ADOPTED)
    db.execute("select reaper.record_key_check(100, 0, 'k in bucket b')")
    with refused("RP010", "k in bucket b") as refusal:
        db.execute("call reaper.drain()")
    assert isinstance(refusal.value, psycopg.Error)
    assert "Bind object_key" in (refusal.value.diag.message_hint or "")
