"""What a door reads depends neither on the size of the tables nor on statistics."""

import pytest

from tests.support.paste_fixtures import Connection
from tests.support.query_plans import pages, read_whole, reads, watched

SMALL, LARGE = 1_000, 20_000

# Autovacuum would bring statistics just when a test wants to be without.
FILL = """
alter table pastes set (autovacuum_enabled = false);
alter table content set (autovacuum_enabled = false);
alter table reaper.object_locations set (autovacuum_enabled = false);
alter table reaper.put_intents set (autovacuum_enabled = false);
set session_replication_role = replica;
insert into content (content_hash, object_key, ref_count, size_bytes)
select 'h' || i, 'k' || i, 1, 10 from generate_series(1, {rows}) as i;
insert into pastes (short_code, content_hash) select 'c' || i, 'h' || i from generate_series(1, {rows}) as i;
insert into reaper.object_locations (content_hash, backend, object_key, size_bytes, created_at)
select 'h' || i, 'default', 'k' || i, 10, now() from generate_series(1, {rows}) as i;
insert into reaper.put_intents (intent_id, short_code, content_hash, size_bytes, backend, object_key,
                                upload_required, reserved, begun_at, next_attempt)
select md5(i::text)::uuid, 'w' || i, 'x' || i, 1, 'default', 'y' || i,
       true, true, now(), now() + interval '1 hour'
  from generate_series(1, {rows}) as i;
set session_replication_role = origin;
"""
# Without foreign keys, whose questions would be taken for a door's.
CLEAN = """
set session_replication_role = replica;
delete from pastes where short_code in ('a', 'b');
delete from content where content_hash = 'new';
set session_replication_role = origin;
"""
# A quota makes a put ask the accounts too.
LIMIT = "select reaper.set_quota('default', 1000000000000, 'test')"
# What ANALYZE saw when the tables were empty.
OUTDATED = """
truncate pastes, content, reaper.object_locations, reaper.put_intents;
analyze pastes, content, reaper.object_locations, reaper.put_intents;
"""

# Everything that a door can do, with content that is there and content that is new.
DOORS = {
    "begin_put": "reaper.begin_put('a', 'h1', 10)",
    "begin_put, new": "reaper.begin_put('b', 'new', 10)",
    "commit_put": "reaper.commit_put((select intent_id from public.begun where short_code = 'a'), true)",
    "commit_put, new": "reaper.commit_put((select intent_id from public.begun where short_code = 'b'), true)",
    "abort_put": "reaper.abort_put((select intent_id from public.begun where short_code = 'd'))",
    "get_paste": "reaper.get_paste('a')",
    "copies_of": "reaper.copies_of('h1')",
    "extend_paste": "reaper.extend_paste('a', reaper.clock() + interval '1 second')",
    "delete_paste": "reaper.delete_paste('b')",
    "claim_intents": "reaper.claim_intents(100)",
}


def fill(db: Connection, rows: int, statistics: str) -> None:
    if statistics == "outdated":
        db.execute(OUTDATED)
    db.execute(FILL.format(rows=rows))
    db.execute(LIMIT)
    if statistics == "right":
        db.execute("analyze")
    # The ids of the puts under way, without a search that would count as the door's own.
    db.execute("create table public.begun (short_code text primary key, intent_id uuid)")


def visit(db: Connection) -> dict[str, int]:
    """Go through every door and leave no paste behind; how many pages each looked at."""
    read = {}
    for name, call in DOORS.items():
        if name == "abort_put":
            db.execute("select from reaper.begin_put('d', 'newer', 10)")
        db.execute(
            "insert into public.begun select short_code, intent_id from reaper.put_intents"
            " where short_code in ('a', 'b', 'd')"
            " on conflict (short_code) do update set intent_id = excluded.intent_id"
        )
        read[name] = pages(db, f"select * from {call}")
    db.execute(CLEAN)
    return read


@pytest.mark.parametrize("statistics", ["none", "outdated", "right"])
def test_a_door_reads_as_little_in_large_tables_as_in_small_ones(db, statistics):
    measured = []
    for rows in (SMALL, LARGE):
        with db.transaction(force_rollback=True):
            fill(db, rows, statistics)
            visit(db)  # the second time the catalogue is known
            measured.append(visit(db))
    small, large = measured
    assert {name: read for name, read in large.items() if read > small[name] + 30} == {}, measured


@pytest.mark.parametrize("statistics", ["none", "outdated", "right"])
@pytest.mark.parametrize("rows", [100, 10_000])
def test_no_plan_inside_a_door_scans_a_table(db, rows, statistics):
    fill(db, rows, statistics)
    plans = watched(db)
    for _ in range(8):
        visit(db)
    ours = [
        plan for plan in plans if "public.begun" not in plan["Query Text"] and plan["Query Text"] != CLEAN
    ]
    tables = {"pastes", "content", "object_locations", "put_intents", "byte_deltas"}
    assert {table for _, table in reads(ours)} >= tables
    assert read_whole(ours, tables) == {}
