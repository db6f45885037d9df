"""Ten contents are created again and again while workers collect them: no live paste ever lacks its bytes."""

from pathlib import Path

import pytest

from tests.support.folder_store import Folder
from tests.support.ordeals import Ordeal
from tests.support.races.world import Arena

# How often chance may fail to bring together what does harm.
TRIES = 10


@pytest.mark.ordeal("create/expire races", aim="1,000,000 races on 10 contents", share=9)
@pytest.mark.parametrize("killing", [False, True], ids=["workers at ease", "workers killed"])
def test_contents_that_are_created_while_they_expire_lose_nothing_and_leave_nothing(
    arena: Arena, ordeal: Ordeal, killing: bool
) -> None:
    arena.race(ordeal.left or 3, ordeal.seed, killing)
    print(arena.figures())
    for what, times in arena.seen.items():
        ordeal.survived("races" if what == "puts" else what, times)
    arena.judge_race()
    assert arena.seen["contents that died"] > 0, "no content ever died, so there was no race"


def test_the_judge_notices_when_objects_are_called_by_their_hash_alone(arena: Arena) -> None:
    assert arena.folder is not None
    Folder(Path(arena.folder)).forget_names()
    for seed in range(TRIES):
        arena.race(3, seed)
        if arena.unreadable:
            break
    print(f"\n{arena.figures()}, {len(arena.unreadable)} unreadable")
    assert arena.unreadable != []
