"""What the cleanup queue costs depends neither on how much is owed nor on who is sick."""

import pytest

from tests.support.owed_deletions import failures, lease, open_circuit, queue, settle
from tests.support.paste_fixtures import Connection, value
from tests.support.query_plans import flat, pages, read_whole, reads, watched

FEW, MANY = 1_000, 100_000
QUEUES = {"cleanup_queue", "cleanup_dlq"}


def queue_many(db: Connection, backend: str, count: int) -> None:
    # Autovacuum would bring statistics just when a test wants to be without.
    for name in QUEUES:
        db.execute(f"alter table reaper.{name} set (autovacuum_enabled = false)")
    queue(db, backend, count, due="-1 hour")


def measured(db: Connection, healthy: str) -> tuple[int, int]:
    """The pages of a claim and of its settlement, when caches and plans are warm."""
    read = (0, 0)
    for number in range(8):
        queue(db, healthy, 10, key=f"try {number} ")
        claim = pages(db, "select * from reaper.claim_cleanup(100)")
        token = value(db, "select lease from reaper.cleanup_queue where lease is not null limit 1")
        read = claim, pages(db, "select reaper.finish_cleanup(%s, '[]')", token)
    return read


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("analyzed", [False, True], ids=["before analyze", "after analyze"])
def test_ten_objects_of_a_healthy_backend_cost_the_same_beside_a_hundred_thousand_of_a_sick_one(
    checked_db, analyzed
):
    read = []
    for count in (FEW, MANY - FEW):
        queue_many(checked_db, f"sick{count}", count)
        open_circuit(checked_db, f"sick{count}")
        if analyzed:
            checked_db.execute("analyze reaper.cleanup_queue")
        read.append(measured(checked_db, "well"))
    (few_claim, few_finish), (many_claim, many_finish) = read
    assert flat(few_claim, many_claim), read
    assert flat(few_finish, many_finish), read
    assert many_claim < 500, read


@pytest.mark.slow
def test_the_measure_notices_a_walk_over_the_sick_one(checked_db):
    queue_many(checked_db, "sick", FEW)
    open_circuit(checked_db, "sick")
    few = measured(checked_db, "well")
    checked_db.execute("drop index reaper.cleanup_queue_due_by_backend, reaper.cleanup_queue_lease")
    checked_db.execute("alter table reaper.cleanup_queue drop constraint cleanup_queue_object_key")
    queue_many(checked_db, "worse", MANY)
    open_circuit(checked_db, "worse")
    many = measured(checked_db, "well")
    assert not flat(few[0], many[0]), (few, many)
    assert not flat(few[1], many[1]), (few, many)


@pytest.mark.parametrize("analyzed", [False, True], ids=["before analyze", "after analyze"])
def test_no_plan_reads_a_whole_queue(checked_db, me, analyzed):
    queue_many(checked_db, "b1", 20_000)
    queue_many(checked_db, "b2", 50)
    if analyzed:
        checked_db.execute("analyze reaper.cleanup_queue, reaper.cleanup_dlq")
    checked_db.execute(
        "insert into reaper.retired_keys select object_key, now() from reaper.cleanup_queue limit 1"
    )
    plans = watched(checked_db)
    for _ in range(8):
        token, objects = lease(me, 10)
        report = [
            *failures(objects[:2]),
            *failures(objects[2:4], permanent=True),
            *failures(objects[4:6], outage=True),
        ]
        assert settle(me, token, report) == 4
    queries = " ".join(plan["Query Text"] for plan in plans)
    for step in (
        "for update skip locked",
        "insert into reaper.cleanup_dlq",
        "delete from reaper.retired_keys",
    ):
        assert step in queries
    assert ("Index Scan", "cleanup_queue") in reads(plans)
    assert read_whole(plans, QUEUES) == {}
