"""PostgreSQL is killed again and again under workers and creators: what was acknowledged stays."""

import time

import pytest

from tests.support.faults.traffic import Traffic, content
from tests.support.faults.world import FaultWorld
from tests.support.mutants.mutant import Edit
from tests.support.ordeals import Ordeal
from tests.support.postgres_failover import Servers
from tests.support.postgres_node import CRASHES
from tests.support.world import CLAIM_MODES

# A mutant: a drop that does not wait for the disk, so that objects go before it is sure that rows do.
CARELESS = Edit("commit_durably", "in ('off', 'local')", "in ('never')")
# How often chance may save what nobody waited for.
TRIES = 10


def crash_amidst(servers: Servers, world: FaultWorld, ordeal: Ordeal, crashes: int) -> Traffic:
    """Let traffic flow and kill the server under it, each time soon after work has been done."""
    traffic = Traffic(world, ordeal.chance.randrange(1_000_000))
    with traffic.flowing():
        for _ in range(crashes):
            traffic.work_goes_on()
            time.sleep(ordeal.chance.uniform(0.0, 0.2))
            how = ordeal.chance.choice(sorted(CRASHES))
            servers.primary.crash(how)
            servers.primary.start()
            ordeal.survived(f"crashes ({how})")
    return traffic


@pytest.mark.ordeal("PostgreSQL crashes", aim="200 crashes", share=2)
def test_a_server_that_is_killed_loses_nothing_that_was_acknowledged(
    servers: Servers, world: FaultWorld, ordeal: Ordeal
) -> None:
    for _ in ordeal.rounds(short=1):
        world.set_claim_mode(ordeal.chance.choice(CLAIM_MODES))
        traffic = crash_amidst(servers, world, ordeal, crashes=10 if ordeal.long else 4)
        world.judge()
        for what, times in traffic.seen.items():
            ordeal.survived(what, times)


@pytest.mark.parametrize("careless", [False, True], ids=["as it is", "drops that do not wait for the disk"])
def test_what_was_dropped_stays_dropped_or_the_judge_complains(
    servers: Servers, world: FaultWorld, careless: bool
) -> None:
    if careless:
        world.sql(CARELESS.sql)
    # The WAL may reach the disk in time by chance.
    for attempt in range(TRIES if careless else 1):
        complaints = drop_and_crash(servers, world, f"paste {attempt}")
        if complaints:
            break
    assert any("has lost" in complaint for complaint in complaints) is careless
    assert careless or complaints == []


def drop_and_crash(servers: Servers, world: FaultWorld, name: str) -> list[str]:
    """Let pastes and their objects go, crash, and ask the judge."""
    with world.opened() as (store, _):
        for n in range(5):
            store.put(content(n), None, f"{name} {n}")
            store.delete(f"{name} {n}")
    world.drain()
    assert world.keys() == set()
    servers.primary.crash()
    servers.primary.start()
    return world.complaints()
