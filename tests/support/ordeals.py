"""Ordeals: tests that go on for as long as they are given, and tell how many faults were survived.

    @pytest.mark.ordeal("kill storm", aim="10,000 kills over 500,000 rows", share=3)
    def test_workers_that_are_killed_lose_nothing(ordeal, arena):
        for _ in ordeal.rounds(short=1):
            ordeal.survived("kills", arena.storm(ordeal.chance))

In the suite a round or two is run. `--minutes 30` gives every ordeal its share of half an hour, times the
processes that work side by side, and the run ends with a scorecard. All chances come from a seed that is
printed; `--seed` brings them back.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.support import scorecard
from tests.support.scorecard import Score

# A round that has begun is ended, whatever it takes; this only ends what hangs.
PATIENCE = 900


@dataclass
class Ordeal:
    """What one test may spend, the chances it takes, and what it has survived."""

    name: str
    seed: int
    seconds: float | None = None
    counts: Counter[str] = field(default_factory=Counter)
    began: float = field(default_factory=time.monotonic)
    chance: Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = Random(self.seed)

    @property
    def long(self) -> bool:
        """Whether it has minutes."""
        return self.seconds is not None

    @property
    def left(self) -> float:
        """Seconds until its time is over; none in the short form."""
        return max(0.0, self.began + (self.seconds or 0.0) - time.monotonic())

    def rounds(self, short: int = 1) -> Iterator[int]:
        """So many rounds in the short form, else at least one and until the time is over."""
        done = 0
        while done < short if not self.long else done == 0 or self.left > 0:
            yield done
            done += 1

    def survived(self, what: str, times: int = 1) -> None:
        """Count what happened and did no harm."""
        self.counts[what] += times


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ordeals")
    group.addoption("--minutes", type=float, help="let the ordeals go on for so long in all")
    group.addoption("--seed", type=int, help="where the ordeals' chances come from; random unless given")
    group.addoption("--scorecard", type=Path, help="write what was survived to this file, as JSON")
    group.addoption("--page", type=Path, help="write the scorecard into this page, between its two marks")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "ordeal(name, aim, share=1): goes on for as long as --minutes gives it"
    )
    if config.getoption("minutes") is not None:
        config.pluginmanager.register(Scores(config))


@pytest.fixture
def ordeal(request: pytest.FixtureRequest) -> Iterator[Ordeal]:
    """The test's share of the time, and its seed."""
    marker = request.node.get_closest_marker("ordeal")
    seed = request.config.getoption("seed")
    ordeal = Ordeal(
        marker.args[0],
        seed=time.time_ns() % 1_000_000 if seed is None else seed,
        seconds=_seconds(request),
    )
    print(f"\nseed {ordeal.seed}")
    yield ordeal
    tell(request.node, ordeal.counts, seed=ordeal.seed)


def tell(node: pytest.Item, counts: Mapping[str, int], seed: int | None = None) -> None:
    """Put what a test survived into its report."""
    marker = node.get_closest_marker("ordeal")
    if marker is not None:
        told = {"name": marker.args[0], "aim": marker.kwargs["aim"], "counts": dict(counts), "seed": seed}
        node.user_properties.append(("ordeal", told))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Ordeals with minutes are not ended by the suite's timeout, and are dealt out evenly."""
    if (minutes := config.getoption("minutes")) is None:
        return
    for item in items:
        if item.get_closest_marker("ordeal"):
            item.add_marker(pytest.mark.timeout(minutes * 60 + PATIENCE), append=False)
    items[:] = dealt(items, _processes(config))


def dealt(items: Sequence[pytest.Item], hands: int) -> list[pytest.Item]:
    """One hand after the other, of the same length and with the same shares; each begins with its longest."""
    sizes = [(len(items) + n) // hands for n in range(hands)]
    filled: list[list[pytest.Item]] = [[] for _ in sizes]
    for item in sorted(items, key=_share, reverse=True):
        open_hands = [hand for hand, size in zip(filled, sizes, strict=True) if len(hand) < size]
        min(open_hands, key=lambda hand: (sum(map(_share, hand)), len(hand))).append(item)
    return [item for hand in filled for item in hand]


def _processes(config: pytest.Config) -> int:
    return int(getattr(config, "workerinput", {"workercount": 1})["workercount"])


def _seconds(request: pytest.FixtureRequest) -> float | None:
    """How long a test may take, of the time that all have together."""
    if (minutes := request.config.getoption("minutes")) is None:
        return None
    shares = sum(map(_share, request.session.items)) or 1
    part = _processes(request.config) * _share(request.node) / shares
    return float(minutes * 60 * min(1.0, part))


def _share(item: pytest.Item) -> float:
    marker = item.get_closest_marker("ordeal")
    return float(marker.kwargs.get("share", 1)) if marker else 0.0


class Scores:
    """Hears what every test survived and which one failed, and shows the scorecard at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self._minutes: float = config.getoption("minutes")
        self._file: Path | None = config.getoption("scorecard")
        self._page: Path | None = config.getoption("page")
        self._failed: set[str] = set()
        self._counted: set[str] = set()
        self._scores: dict[str, Score] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test that failed says so in one report, and what it survived in its last."""
        if report.failed:
            self._failed.add(report.nodeid)
        if report.when == "teardown":
            for told in (told for name, told in report.user_properties if name == "ordeal"):
                score = self._scores.setdefault(told["name"], Score(told["name"], told["aim"]))
                # More than one fixture of a test may have something to tell.
                failed = report.nodeid in self._failed - self._counted
                score.add(told["counts"], told["seed"], failed)
                self._counted.update([report.nodeid] if failed else [])

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The scorecard, on the screen and where it was asked for."""
        scores = list(self._scores.values())
        uncounted = len(self._failed - self._counted)
        if uncounted:
            scores.append(Score("failed before anything was counted", "none", violations=uncounted))
        terminalreporter.section("scorecard")
        terminalreporter.write(scorecard.text(scores))
        if self._file:
            self._file.write_text(json.dumps([score.as_json() for score in scores], indent=2) + "\n")
        if self._page:
            scorecard.insert(self._page, scorecard.markdown(scores, self._minutes))
