import pytest

from tests.support.interleavings.schedule_runner import stands_still

ACTORS = {1, 2, 3}


@pytest.mark.parametrize(
    ("blockers", "still"),
    [
        pytest.param({2: {1}}, True, id="one waits for an idle actor"),
        pytest.param({2: {1}, 3: {1, 2}}, True, id="a queue behind an idle actor"),
        pytest.param({2: {1}, 3: set()}, False, id="somebody runs"),
        pytest.param({1: {2}, 2: {1}}, False, id="a deadlock"),
        pytest.param({1: {2}, 2: {1}, 3: {1}}, False, id="a waiter behind a deadlock"),
        pytest.param({2: {99}}, False, id="one waits for a stranger, such as autovacuum"),
        pytest.param({2: {1, 99}}, False, id="one waits for an actor and a stranger"),
    ],
)
def test_only_an_actors_next_move_can_change_what_stands_still(
    blockers: dict[int, set[int]], still: bool
) -> None:
    assert stands_still(blockers, ACTORS) is still
