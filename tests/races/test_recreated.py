"""Ten contents are created again and again while workers collect them: no live paste ever lacks its bytes."""

from pathlib import Path

import pytest

from tests.races.arena import Arena, seconds, seed
from tests.races.folder import Folder

LONG = 3600


@pytest.mark.timeout(LONG)
@pytest.mark.parametrize("killing", [False, True], ids=["workers at ease", "workers killed"])
def test_contents_that_are_created_while_they_expire_lose_nothing_and_leave_nothing(
    arena: Arena, killing: bool
) -> None:
    chances = seed()
    arena.race(seconds(5), chances, killing)
    print(f"\nseed {chances}: {arena.figures()}")
    arena.judge_race()
    assert arena.seen["contents that died"] > 0, "no content ever died, so there was no race"


@pytest.mark.timeout(LONG)
def test_the_judge_notices_when_objects_are_called_by_their_hash_alone(arena: Arena) -> None:
    assert arena.folder is not None
    Folder(Path(arena.folder)).forget_names()
    arena.race(5, seed())
    print(f"\n{arena.figures()}, {len(arena.unreadable)} unreadable")
    assert arena.unreadable != []
