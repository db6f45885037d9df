"""What copies cost depends on what is copied, not on how much is stored, wanted or under way."""

from collections.abc import Callable

import pytest

from tests.support.copy_fixtures import Copier, backends, factor
from tests.support.paste_fixtures import Connection, Pastes, Worker, value
from tests.support.query_plans import flat, pages, read_whole, watched

# Of the contents each tenth has one copy and is wanted, each tenth has three and is in the other list; some
# of these are due. Half as many copies are being made for contents of their own; a plan of moves has some.
# Autovacuum would bring statistics just when a test wants to be without.
FILL = """
alter table content set (autovacuum_enabled = false);
alter table reaper.object_locations set (autovacuum_enabled = false);
set session_replication_role = replica;
insert into content (content_hash, object_key, ref_count, size_bytes)
select 'h' || lpad(i::text, 9, '0'), 'k' || i, 0, 10 from generate_series(1, {rows}) as i;
insert into reaper.object_locations (content_hash, backend, object_key, size_bytes, created_at, verified_at)
select 'h' || lpad(i::text, 9, '0'), b.name, 'k' || i, 10, now(), now()
  from generate_series(1, {rows}) as i
 cross join (values (1, 'default'), (2, 'east'), (3, 'west')) as b (number, name)
 where b.number <= case i % 10 when 0 then 1 when 1 then 3 else 2 end;
insert into reaper.byte_deltas (backend, used_bytes)
select backend, sum(size_bytes) from reaper.object_locations group by backend;
insert into reaper.copy_wants (content_hash, good, reason, queued_at, next_attempt)
select 'h' || lpad(i::text, 9, '0'), 1, 'few', now(),
       now() + interval '1 hour' * case when i <= 5000 then -1 else 1 end
  from generate_series(10, {rows}, 10) as i;
insert into reaper.copy_excess (content_hash, queued_at, next_attempt)
select 'h' || lpad(i::text, 9, '0'), now(),
       now() + interval '1 hour' * case when i <= 5000 then -1 else 1 end
  from generate_series(1, {rows}, 10) as i;
insert into reaper.copy_intents (intent_id, content_hash, purpose, source, source_key, destination,
                                 object_key, size_bytes, begun_at, lease, lease_until)
select gen_random_uuid(), 'h' || lpad(i::text, 9, '0'), 'replicate', 'default', 'k' || i, 'west', 'n' || i,
       10, now(), gen_random_uuid(), now() + interval '1 day'
  from generate_series(2, {rows}, 20) as i;
insert into reaper.byte_deltas (backend, reserved_bytes)
select destination, sum(size_bytes) from reaper.copy_intents group by destination;
insert into reaper.copy_moves (content_hash, source, destination, size_bytes, planned_at)
select 'h' || lpad(i::text, 9, '0'), 'east', 'west', 10, now()
  from generate_series(3, {rows}, 20) as i limit 10000;
insert into reaper.cleanup_queue (backend, object_key, content_hash, size_bytes, queued_at, next_attempt)
select 'west', 'q' || i, 'gone' || i, 0, now(), now() + interval '1 day'
  from generate_series(1, {rows}, 10) as i;
reset session_replication_role;
update reaper.copy_sweep set fingerprint = '';
"""
# A plan of moves has at most 10,000 rows, and is sorted.
LARGE = (
    *("content", "object_locations", "cleanup_queue"),
    *("copy_wants", "copy_excess", "copy_intents"),
)
SMALL = 5_000


@pytest.fixture
def large(sized: Callable[[int, int], int]) -> int:
    return sized(1_000_000, 50_000)


def fill(db: Connection, rows: int) -> None:
    backends(db, "east", "west", quota=1 << 40)
    factor(db, 2)
    db.execute(FILL.format(rows=rows).encode())


def each_once(copier: Copier) -> None:
    """Every function by which copies are wanted, made, moved and removed."""
    copier.call("sweep_copies", 100)
    tasks = copier.claim_copies(10)
    assert len(tasks) == 10
    copier.call("copies_are_due")
    copier.call("extend_copies", tasks[0].lease)
    copier.call("record_upload", tasks[0].intent_id, tasks[0].lease, "an upload")
    assert copier.fail_copy(tasks[0])
    # What was found missing the last time is made again.
    assert {copier.commit_copy(task) for task in tasks[1:]} <= {"copied", "repaired"}
    found = copier.claim_excess(10)
    assert len(found) == 10
    assert {copier.remove_copy(excess) for excess in found} == {"removed"}
    [kept] = found[0].keep_keys[:1]
    assert copier.report(found[0].content_hash, found[0].keep_backends[0], kept, "missing") == "recorded"
    moves = copier.claim_moves(10)
    assert len(moves) == 10
    assert {copier.commit_copy(task) for task in moves} == {"moved"}
    copier.connection.execute(
        "update reaper.copy_intents set lease_until = '-infinity'"
        " where intent_id in (select intent_id from reaper.copy_intents order by lease_until limit 10)"
    )
    assert copier.call("drop_stale_copies", 10)[0].drop_stale_copies == 10
    copier.call("copies_detail", found[1].content_hash)


@pytest.mark.parametrize("analyzed", [False, True], ids=["before analyze", "after analyze"])
def test_no_statement_of_copies_reads_a_large_table_as_a_whole(
    db: Connection, analyzed: bool, large: int
) -> None:
    fill(db, large)
    if analyzed:
        db.execute("analyze")
    copier = Copier(db)
    plans = watched(db)
    # Often enough to see custom plans and generic ones.
    for _ in range(7):
        each_once(copier)
    own = [plan for plan in plans if "set lease_until = '-infinity'" not in plan["Query Text"]]
    assert "insert into reaper.copy_intents" in " ".join(plan["Query Text"] for plan in own)
    assert read_whole(own, LARGE) == {}


def test_copies_cost_as_little_among_many_contents_as_among_few(db: Connection, large: int) -> None:
    calls = {
        "claim": "select count(*) from reaper.claim_copies(50)",
        "excess": "select count(*) from reaper.claim_excess(50)",
        "moves": "select count(*) from reaper.claim_moves(50)",
        "sweep": "select * from reaper.sweep_copies(50)",
        "due": "select reaper.copies_are_due()",
        "stale": "select reaper.drop_stale_copies(50)",
    }
    measured: dict[str, list[int]] = {name: [] for name in (*calls, "commit")}
    for rows in (SMALL, large):
        with db.transaction(force_rollback=True):
            fill(db, rows)
            for name, query in calls.items():
                measured[name].append(min(pages(db, query) for _ in range(3)))
            measured["commit"].append(min(commit(db) for _ in range(3)))
    assert all(flat(*found) for found in measured.values()), measured


def commit(db: Connection) -> int:
    """The pages that it takes to make copies of fifty stored objects."""
    tasks = Copier(db).claim_copies(50)
    assert len(tasks) == 50
    return pages(
        db,
        "select count(*) from reaper.commit_copies(%s, %s, %s, %s, %s, %s)",
        tasks[0].lease,
        [task.intent_id for task in tasks],
        [task.sources[0] for task in tasks],
        [task.size_bytes for task in tasks],
        [None] * len(tasks),
        [True] * len(tasks),
    )


@pytest.mark.parametrize("claim", ["claim_expired", "reap_expired"])
def test_with_one_copy_of_each_a_release_looks_at_no_row_of_the_copies_of_others(
    db: Connection, paste: Pastes, large: int, claim: str
) -> None:
    worker = Worker(db)
    measured = []
    for rows in (SMALL, large):
        with db.transaction(force_rollback=True):
            fill(db, rows)
            factor(db, 1)
            measured.append(min(release(worker, paste, claim, f"p{number}-") for number in range(3)))
    assert flat(*measured), measured


def release(worker: Worker, paste: Pastes, claim: str, codes: str) -> int:
    """The pages that a release of a hundred contents reads."""
    paste.many(codes, 100)
    if claim == "claim_expired":
        batch = worker.claim()
        read = pages(worker.connection, "select * from reaper.drop_references(%s)", batch)
    else:
        read = pages(worker.connection, "select * from reaper.reap_expired(1000, 'w')")
        batch = value(worker.connection, "select batch_id from reaper.batches")
    worker.finish(batch)
    return read
