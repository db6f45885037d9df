"""A store that is busy, refuses single keys and loses answers: all that was to go is gone, at little cost."""

from datetime import timedelta

import pytest

from tests.support.faults.s3_storm_world import S3StormWorld
from tests.support.ordeals import Ordeal
from tests.support.s3_double.server import FaultRates, RandomFaults
from tests.support.world import CLAIM_MODES

STORM = FaultRates(busy=0.30, key_errors=0.05, lost=0.01)
# In good weather one request is enough for a batch.
REQUESTS_FOR_EACH_NEEDED = 1.6
# After so many passes an hour apart something is wrong: a key is refused ten times before it is given up.
PASSES = 10
# How long a store is waited for that says nothing.
IMPATIENT = timedelta(seconds=0.3)


def drain_until_settled(world: S3StormWorld, **given: object) -> None:
    """Drain, and come back for what failed, until nothing is owed."""
    world.drain(workers=4, **given)
    for _ in range(PASSES):
        if world.owed() == 0:
            return
        world.advance_clock("1 hour")
        world.drain(**given)
    raise AssertionError(f"{world.owed()} are still owed after {PASSES} passes")


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("fault", ["hang", "late", "cut", "omitted", "error_in_200"])
def test_a_drain_gets_over_a_store_that_gives_no_clear_answer(stormy: S3StormWorld, fault: str) -> None:
    due = stormy.fill(300)
    stormy.s3.random_faults = RandomFaults(FaultRates(**{fault: 0.3}, late_by=0.05), seed=3)
    drain_until_settled(stormy, batch_size=20, s3_read_timeout=IMPATIENT)
    assert sum(times for what, times in stormy.s3.random_faults.seen.items() if what.startswith(fault)) > 0
    assert stormy.touched() == due
    assert stormy.value("select count(*) from reaper.cleanup_dlq") == 0
    stormy.judge()


@pytest.mark.slow
@pytest.mark.ordeal("S3 storm", aim="100,000 keys, ≤ 1.6 requests for each needed one", share=1)
def test_a_storm_costs_few_requests_loses_nothing_and_gives_nothing_up(
    stormy: S3StormWorld, ordeal: Ordeal
) -> None:
    contents, batch_size = (112_000, 500) if ordeal.long else (2_250, 40)
    for _ in ordeal.rounds(short=1):
        stormy.set_claim_mode(ordeal.chance.choice(CLAIM_MODES))
        stormy.sql("truncate reaper.runs")
        due = stormy.fill(contents)
        stormy.s3.heard.clear()
        # So few requests as in the short form may have bad luck.
        seed = ordeal.chance.randrange(1_000_000) if ordeal.long else 1
        stormy.s3.random_faults = RandomFaults(STORM, seed=seed)
        drain_until_settled(stormy, batch_size=batch_size)

        needed = stormy.value("select count(*) from reaper.runs where objects_deleted + objects_failed > 0")
        requests = len(stormy.s3.asked)
        seen = stormy.s3.random_faults.seen
        print(f"{len(due)} keys, {requests} requests for {needed}: {requests / needed:.3f}, {dict(seen)}")
        assert min(seen["busy"], seen["key_errors"]) > 0
        assert requests <= REQUESTS_FOR_EACH_NEEDED * needed
        assert stormy.touched() == due
        assert stormy.value("select count(*) from reaper.cleanup_dlq") == 0
        stormy.judge()
        ordeal.survived("keys", len(due))
        ordeal.survived("faults", seen["busy"] + seen["lost"] + seen["key_errors"])
        ordeal.survived("requests", requests)
        ordeal.survived("needed requests", needed)


def test_an_object_that_is_still_there_or_somebody_elses_that_is_gone_is_noticed(
    stormy: S3StormWorld,
) -> None:
    stormy.fill(20)
    stormy.drain()
    stormy.judge()
    bucket = stormy.backends["default"]
    bucket.store("left/behind", b"an object of a content that is gone")
    with pytest.raises(AssertionError):
        stormy.judge()
    bucket.drop("left/behind", "others/7")
    with pytest.raises(AssertionError):
        stormy.judge()
