"""A drawing: the few shapes that plots are made of, written as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Literal

Anchor = Literal["start", "middle", "end"]
Point = tuple[float, float]

INK, FAINT, GRID, PAPER = "#1f2933", "#66727f", "#e4e8ec", "#ffffff"
# Ours, the limit, all others, and a second tone of ours; told apart also by those who see few colours.
OURS, LIMIT, OTHERS, SECOND = "#0f766e", "#475569", "#d8a35d", "#5eb8ae"
FONT = "font-family=\"Inter, 'Helvetica Neue', Helvetica, Arial, sans-serif\""


@dataclass
class SvgDrawing:
    """Collects shapes; the later ones lie on top."""

    width: float
    height: float
    _shapes: list[str] = field(default_factory=list)

    def text(
        self,
        at: Point,
        words: str,
        size: float = 13,
        colour: str = INK,
        anchor: Anchor = "start",
        bold: bool = False,
    ) -> None:
        """Words whose baseline begins, ends or is centred at a point."""
        weight = ' font-weight="600"' if bold else ""
        self._shapes.append(
            f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" font-size="{size:g}" fill="{colour}"'
            f' text-anchor="{anchor}"{weight}>{escape(words)}</text>'
        )

    def bar(self, at: Point, width: float, height: float, colour: str) -> None:
        """A filled rectangle; never so thin that it cannot be seen."""
        self._shapes.append(
            f'<rect x="{at[0]:.1f}" y="{at[1]:.1f}" width="{max(1.5, width):.1f}" height="{height:.1f}"'
            f' rx="2" fill="{colour}"/>'
        )

    def line(self, start: Point, end: Point, colour: str = GRID, dashed: bool = False) -> None:
        """A thin line."""
        dashes = ' stroke-dasharray="4 4"' if dashed else ""
        self._shapes.append(
            f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
            f' stroke="{colour}" stroke-width="1"{dashes}/>'
        )

    def curve(self, points: Sequence[Point], colour: str) -> None:
        """A line through all points."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._shapes.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"'
            ' stroke-linejoin="round" stroke-linecap="round"/>'
        )

    def dot(self, at: Point, colour: str, radius: float = 3) -> None:
        """A filled circle."""
        self._shapes.append(f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius:g}" fill="{colour}"/>')

    def svg(self, title: str) -> str:
        """The document; its title is what a screen reader says."""
        size = f'width="{self.width:g}" height="{self.height:g}" viewBox="0 0 {self.width:g} {self.height:g}"'
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {FONT}>',
                f"<title>{escape(title)}</title>",
                f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>',
                *self._shapes,
                "</svg>\n",
            ]
        )


def scale_top(largest: float) -> float:
    """The end of an axis: the next round number."""
    if not largest > 0:
        return 1.0
    power = 10.0 ** len(str(int(largest))) / 10 if largest >= 1 else _below_one(largest)
    return next(step * power for step in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if step * power >= largest)


def _below_one(largest: float) -> float:
    power = 1.0
    while power > largest:
        power /= 10
    return power
