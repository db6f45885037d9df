"""Workers are killed again and again while a backlog drains and the same contents are created anew."""

import pytest

from tests.support.crash_points.kill_storm import PASTES_EACH, KillStorm
from tests.support.crash_points.world import CrashWorld
from tests.support.ordeals import Ordeal

ROWS, FEW = 10_000, 300
# So many must have died; a backlog that is drained too quickly for that is followed by another.
ENOUGH = 5


@pytest.mark.ordeal("kill storm", aim="10,000 kills over 500,000 rows", share=3)
@pytest.mark.parametrize("claim_mode", ["mark", "direct"])
def test_workers_that_are_killed_many_times_a_second_lose_nothing_and_leave_nothing(
    world: CrashWorld, ordeal: Ordeal, claim_mode: str
) -> None:
    world.set_claim_mode(claim_mode)
    rows = ROWS if ordeal.long else FEW
    for number in ordeal.rounds(short=5):
        contents = [b"content %d of storm %d" % (n, number) for n in range(rows // PASTES_EACH)]
        storm = KillStorm(world, ordeal.chance, contents)
        storm.rage()
        assert world.complaints() == []
        world.heal()
        assert world.complaints(settled=True) == []
        ordeal.survived("kills", storm.kills)
        ordeal.survived("rows", rows)
        ordeal.survived("contents created anew", storm.created)
        if ordeal.counts["kills"] > ENOUGH and not ordeal.long:
            break
    assert ordeal.counts["kills"] > ENOUGH, "hardly anybody was killed"
