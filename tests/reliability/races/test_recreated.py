"""Ten contents are created again and again while workers collect them: no live paste ever lacks its bytes."""

import pytest

from tests.support.folder_store import FolderStore
from tests.support.ordeals import Ordeal
from tests.support.races.world import RaceWorld

# How often chance may fail to bring together what does harm.
TRIES = 10


@pytest.mark.slow(but=1)
@pytest.mark.ordeal("create/expire races", aim="1,000,000 races on 10 contents", share=6)
@pytest.mark.parametrize(
    ("killing", "claim_modes"),
    [(False, ["mark"]), (False, ["direct"]), (True, ["direct", "mark"])],
    ids=["workers at ease that mark", "workers at ease that release directly", "workers killed"],
)
def test_contents_that_are_created_while_they_expire_lose_nothing_and_leave_nothing(
    races: RaceWorld, ordeal: Ordeal, killing: bool, claim_modes: list[str]
) -> None:
    races.race(ordeal.left or 2, ordeal.seed, killing, claim_modes)
    print(races.figures())
    for what, times in races.seen.items():
        ordeal.survived("races" if what == "puts" else what, times)
    races.judge_race()
    assert races.seen["contents that died"] > 0, "no content ever died, so there was no race"


@pytest.mark.slow
def test_the_judge_notices_when_objects_are_called_by_their_hash_alone(races: RaceWorld) -> None:
    objects = races.backends["default"]
    assert isinstance(objects, FolderStore)
    objects.forget_names()
    for seed in range(TRIES):
        races.race(3, seed)
        if races.unreadable:
            break
    print(f"\n{races.figures()}, {len(races.unreadable)} unreadable")
    assert races.unreadable != []
