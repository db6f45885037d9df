"""Ordeals are dealt out so that processes side by side end together."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import run
from tests.support.ordeals import dealt

ROOT = Path(__file__).parents[2]


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


ORDEALS = """
import os
import pytest


@pytest.mark.ordeal("walk", aim="far")
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_walk(ordeal, steps):
    ordeal.survived("steps", steps)


@pytest.mark.ordeal("fall", aim="never")
def test_fall(ordeal):
    ordeal.survived("steps")
    assert ordeal.seconds > 0.6, "more than there is"


@pytest.mark.ordeal("death", aim="never")
def test_death(ordeal):
    os._exit(1)
"""


@pytest.mark.slow
def test_what_is_survived_side_by_side_counts_once_and_so_does_a_process_that_dies(tmp_path):
    (tmp_path / "test_few.py").write_text(ORDEALS)
    told = tmp_path / "scorecard.json"
    words = [
        "--minutes",
        "0.01",
        "-n",
        "2",
        "--rootdir",
        str(tmp_path),
        "--scorecard",
        str(told),
        str(tmp_path),
    ]
    command = [sys.executable, "-m", "pytest", *run.ORDEALS, *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stderr
    scores = {score["ordeal"]: score for score in json.loads(told.read_text())}
    assert (scores["walk"]["survived"], scores["walk"]["violations"]) == ({"steps": 6}, 0)
    assert (scores["fall"]["survived"], scores["fall"]["violations"]) == ({"steps": 1}, 1)
    assert scores["failed before anything was counted"]["violations"] == 1
    assert "2 violations" in done.stdout
