"""What the plain run leaves out because others show nearly the same sooner; `--slow` runs exactly that.

    @pytest.mark.slow                      # the test
    @pytest.mark.slow(but=3)               # all but three of its cases, always the same ones
    @pytest.mark.slow(but="one copy")      # all but the cases with these words in their name

Together the plain run and `--slow` are all tests, and `.ci/run` calls both. Ordeals that are given minutes,
and tests that are named on the command line, run in any case.
"""

from collections import defaultdict
from hashlib import sha256

import pytest

Items = list[pytest.Item]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run exactly what the plain run leaves out")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "slow(but=0): only --slow runs it; but: so many cases, or these, excepted"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: Items) -> None:
    """Leave out either the slow ones or all others."""
    wants_slow = config.getoption("slow")
    if not wants_slow and is_asked_for(config):
        return
    slow = set(slow_among(items))
    out = [item for item in items if (item in slow) != wants_slow]
    config.hook.pytest_deselected(items=out)
    items[:] = [item for item in items if (item in slow) == wants_slow]


def is_asked_for(config: pytest.Config) -> bool:
    """Whether somebody named tests, or gave the ordeals their minutes."""
    return config.getoption("minutes") is not None or any("::" in word for word in config.args)


def slow_among(items: Items) -> Items:
    """The tests with the mark, less the cases that it excepts."""
    cases: dict[str, Items] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("slow"):
            cases[item.nodeid.partition("[")[0]].append(item)
    return [item for same in cases.values() for item in slow_cases(same)]


def slow_cases(cases: Items) -> Items:
    """The cases of one test that are left out."""
    mark = cases[0].get_closest_marker("slow")
    but = mark.kwargs.get("but", 0) if mark else 0
    if isinstance(but, str):
        return [case for case in cases if but not in case.nodeid]
    # By a hash, so that those that stay are spread over all parameters, and are the same in every run.
    return sorted(cases, key=lambda case: sha256(case.name.encode()).digest())[but:]
