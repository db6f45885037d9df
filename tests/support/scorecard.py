"""What the ordeals survived, beside what was aimed at: as text, as Markdown and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from reaper.dev.bench.machine import describe

BEGIN, END = "<!-- scorecard: written by make torture -->", "<!-- end of scorecard -->"
MOST_SEEDS = 4
HEADINGS = ("ordeal", "survived", "aim", "violations", "seed")


@dataclass
class Score:
    """The sum over all tests that bear one name."""

    name: str
    aim: str
    counts: Counter[str] = field(default_factory=Counter)
    seeds: list[int] = field(default_factory=list)
    violations: int = 0

    def add(self, counts: Mapping[str, int], seed: int | None, failed: bool) -> None:
        """One more test."""
        self.counts.update(counts)
        self.seeds += [] if seed is None or seed in self.seeds else [seed]
        self.violations += failed

    @property
    def cells(self) -> tuple[str, ...]:
        """One row of the table."""
        survived = ", ".join(f"{count:,} {what}" for what, count in self.counts.items())
        # Many are those of tests that draw nothing.
        seeds = " ".join(map(str, self.seeds)) if len(self.seeds) <= MOST_SEEDS else ""
        return (self.name, survived or "-", self.aim, str(self.violations), seeds or "-")

    def as_json(self) -> dict[str, Any]:
        """The same for a program."""
        return {
            "ordeal": self.name,
            "survived": dict(self.counts),
            "aim": self.aim,
            "violations": self.violations,
            "seeds": self.seeds,
        }


def text(scores: Sequence[Score]) -> str:
    """A block for each ordeal, that fits every screen."""
    blocks = [
        f"{score.name}\n" + "".join(f"  {what:10}  {cell}\n" for what, cell in _labelled(score))
        for score in scores
    ]
    return "\n".join([*blocks, f"{sum(score.violations for score in scores)} violations\n"])


def _labelled(score: Score) -> list[tuple[str, str]]:
    return list(zip(HEADINGS, score.cells, strict=True))[1:]


def markdown(scores: Sequence[Score], minutes: float) -> str:
    """The table of the page, with when and where it was measured."""
    when = f"{datetime.now(UTC):%d %B %Y}"
    return "\n".join(
        [
            f"Measured on {when} with `make torture MINUTES={minutes:g}`: {describe().sentence}.",
            "",
            "| " + " | ".join(HEADINGS) + " |",
            "|---|---|---|---:|---:|",
            *("| " + " | ".join(score.cells) + " |" for score in scores),
        ]
    )


def insert(page: Path, figures: str) -> None:
    """Replace what stands between the two marks of a page."""
    before, begin, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{page} has no place for the scorecard: put {BEGIN} and {END} where it belongs.")
    page.write_text(f"{before}{BEGIN}\n\n{figures}\n\n{END}{after}")
