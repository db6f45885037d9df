"""PostgreSQL is killed again and again under workers and creators: what was acknowledged stays."""

import time
from collections.abc import Iterator

import pytest

from reaper.migrate import migrate
from tests.drain.world import DEADLINE
from tests.faults.ground import Ground
from tests.faults.node import CRASHES, Node
from tests.faults.traffic import Traffic, content
from tests.ordeals import Ordeal
from tests.races.arena import folder

# A mutant: a drop that does not wait for the disk, so that objects go before it is sure that rows do.
CARELESS = """
create or replace function reaper.commit_durably() returns void language sql
    set search_path = pg_catalog as 'select'
"""


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Creators look again soon after a connection was refused: a crash a second is enough."""
    monkeypatch.setattr("psycopg_pool.base.AttemptWithBackoff.INITIAL_DELAY", 0.05)


@pytest.fixture
def node() -> Iterator[Node]:
    with Node.made() as node:
        node.start()
        migrate(node.dsn())
        yield node


@pytest.fixture
def ground(node: Node) -> Iterator[Ground]:
    with folder() as path:
        yield Ground(node.dsn(), "", "http://127.0.0.1:1", "nowhere", folder=path)


def crash_amidst(node: Node, ground: Ground, ordeal: Ordeal, crashes: int) -> Traffic:
    """Let traffic flow and kill the server under it, each time soon after work has been done."""
    traffic = Traffic(ground, ordeal.chance.randrange(1_000_000))
    with traffic.flowing():
        for _ in range(crashes):
            wait_for_work(traffic)
            time.sleep(ordeal.chance.uniform(0.0, 0.2))
            how = ordeal.chance.choice(sorted(CRASHES))
            node.crash(how)
            node.start()
            ordeal.survived(f"crashes ({how})")
    return traffic


def wait_for_work(traffic: Traffic) -> None:
    """Until somebody has put something since."""
    before, deadline = traffic.seen["puts"], time.monotonic() + DEADLINE
    while traffic.seen["puts"] < before + 10:
        assert time.monotonic() < deadline, f"nothing was put any more: {dict(traffic.seen)}"
        time.sleep(0.005)


@pytest.mark.timeout(120)
@pytest.mark.ordeal("PostgreSQL crashes", aim="200 crashes", share=2)
def test_a_server_that_is_killed_loses_nothing_that_was_acknowledged(
    node: Node, ground: Ground, ordeal: Ordeal
) -> None:
    for _ in ordeal.rounds(short=1):
        traffic = crash_amidst(node, ground, ordeal, crashes=10 if ordeal.long else 4)
        ground.judge()
        for what, times in traffic.seen.items():
            ordeal.survived(what, times)


@pytest.mark.parametrize("careless", [False, True], ids=["as it is", "drops that do not wait for the disk"])
def test_what_was_dropped_stays_dropped_or_the_judge_complains(
    node: Node, ground: Ground, careless: bool
) -> None:
    with ground.opened() as (store, _):
        for n in range(5):
            store.put(content(n), None, f"paste {n}")
            store.delete(f"paste {n}")
    if careless:
        ground.sql(CARELESS)
    ground.drain()
    assert ground.keys() == set()
    node.crash()
    node.start()
    complaints = ground.complaints()
    assert len([complaint for complaint in complaints if "has lost" in complaint]) == (5 if careless else 0)
    assert careless or complaints == []
