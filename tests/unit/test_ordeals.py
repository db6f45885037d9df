"""Ordeals are dealt out so that processes side by side end together."""

from types import SimpleNamespace

import pytest

from tests.ordeals import dealt


def item(share):
    marker = None if share is None else SimpleNamespace(kwargs={"share": share})
    return SimpleNamespace(share=share or 0, get_closest_marker=lambda _: marker)


@pytest.mark.parametrize("hands", [1, 2, 4, 8])
def test_each_hand_has_as_many_tests_and_about_the_same_minutes(hands):
    items = [item(share) for share in (1, 14, 0, 9, None, 9, 8, 6, 6, 0, 5, 4, 2, 2, 2, 1, 1)]
    items += [item(0) for _ in range(64 - len(items))]
    order = dealt(items, hands)
    assert {id(each) for each in order} == {id(each) for each in items}
    size = len(order) // hands
    loads = [sum(each.share for each in order[n * size : (n + 1) * size]) for n in range(hands)]
    assert max(loads) <= max(14, 70 / hands + 1)
    for n in range(hands):
        shares = [each.share for each in order[n * size : (n + 1) * size]]
        assert shares == sorted(shares, reverse=True)


def test_a_rest_goes_to_the_last_hands_as_xdist_cuts_them():
    long, longer, rest = item(2), item(3), item(0)
    assert dealt([rest, long, longer], 2) == [longer, long, rest]
