"""The three plots: how fast, how steady, and what others notice."""

from __future__ import annotations

from collections.abc import Sequence

from reaper.dev.bench.foreground_latency import Phase
from reaper.dev.bench.method import Step
from reaper.dev.bench.repeated_runs import Rounds
from reaper.dev.bench.results import Results
from reaper.dev.bench.runner import Run, Variant
from reaper.dev.bench.statistics import percentile
from reaper.dev.bench.svg import FAINT, GRID, INK, LIMIT, OTHERS, OURS, SECOND, Point, SvgDrawing, scale_top
from reaper.dev.bench.variants import FLOOR, PARTITION
from reaper.dev.bench.workload import Workload

WIDTH, MARGIN = 860.0, 28.0
LABELS = 280.0
ROW = 24.0
MS = 1000.0
# A drain is cut into so many parts of equal length, and each part's claims are summed up in one point.
PARTS = 20


def throughput(results: Results) -> str:
    """Rows a second of every method, on the two main workloads."""
    workloads = results.workloads()[:2]
    heights = [56 + ROW * len(_shown(results, w)) for w in workloads]
    drawing = SvgDrawing(WIDTH, sum(heights) + 62)
    _heading(drawing, "Throughput", "rows per second, median of the rounds; ÷ floor in brackets")
    top = 70.0
    for workload, height in zip(workloads, heights, strict=True):
        _bars(drawing, results, workload, top)
        top += height
    return drawing.svg("Throughput of each method")


def _shown(results: Results, workload: Workload) -> list[Variant]:
    """All but the drop of a partition, beside which every other bar would be a dot."""
    return [variant for variant in results.variants(workload) if variant != PARTITION]


def _bars(drawing: SvgDrawing, results: Results, workload: Workload, top: float) -> None:
    drawing.text((MARGIN, top + 18), f"{workload.name}, {workload.due:,} due rows", bold=True)
    rates = {variant: results.rate(workload, variant) for variant in _shown(results, workload)}
    end = scale_top(max(rates.values()))
    room = WIDTH - LABELS - MARGIN - 120
    for number, (variant, rate) in enumerate(rates.items()):
        y = top + 30 + number * ROW
        drawing.text((LABELS, y + 14), variant.name, 12, anchor="end")
        drawing.bar((LABELS + 10, y + 3), room * rate / end, ROW - 8, _colour(variant))
        ratio = results.ratio(workload, variant, FLOOR)
        sampled = "≈ " if variant.method.sample is not None else ""
        words = f"{rate:,.0f}" if variant == FLOOR else f"{sampled}{rate:,.0f}  ({_short(ratio)})"
        drawing.text((LABELS + 18 + max(1.5, room * rate / end), y + 14), words, 12, FAINT)


def growth(results: Results) -> str:
    """What a row costs by size of the table; how long claims take over the course of a drain."""
    drawing = SvgDrawing(WIDTH, 330)
    _heading(
        drawing,
        "Growth",
        "direct release, one worker; left: cost of a row by number of due rows; right: claims during a drain",
    )
    _cost_by_size(drawing, results.growth.random.drains)
    _claims(drawing, results.snapshots.direct.typical, results.snapshots.direct_pinned.typical)
    return drawing.svg("Cost per row by size, and claim latency over the course of a drain")


def _cost_by_size(drawing: SvgDrawing, sizes: Sequence[Rounds]) -> None:
    left, bottom, height, width = MARGIN + 40, 280.0, 170.0, 250.0
    costs = [rounds.seconds_per_row * 1e6 for rounds in sizes]
    end = scale_top(max(costs))
    _axis(drawing, (left, bottom), width, height, end, "µs per row")
    slot = width / len(sizes)
    for number, (rounds, cost) in enumerate(zip(sizes, costs, strict=True)):
        x, tall = left + slot * number + slot / 2, height * cost / end
        drawing.bar((x - 22, bottom - tall), 44, tall, OURS)
        drawing.text((x, bottom - tall - 6), f"{cost:.0f}", 12, INK, "middle")
        drawing.text((x, bottom + 18), f"{rounds.workload.due:,}", 12, FAINT, "middle")


def _claims(drawing: SvgDrawing, free: Run, pinned: Run) -> None:
    left, bottom, height, width = 400.0, 280.0, 170.0, WIDTH - 400 - MARGIN - 10
    curves = [
        ("snapshot pinned, longest", OTHERS, _course(pinned.claims, 1.0)),
        ("no snapshot pinned, longest", OURS, _course(free.claims, 1.0)),
        ("no snapshot pinned, p50", SECOND, _course(free.claims, 0.5)),
    ]
    end = scale_top(max((value for _, _, course in curves for value in course), default=1.0))
    _axis(drawing, (left, bottom), width, height, end, "claim, ms")
    for number, (name, colour, course) in enumerate(curves):
        step = width / max(1, len(course) - 1)
        drawing.curve([(left + step * n, bottom - height * v / end) for n, v in enumerate(course)], colour)
        drawing.dot((left + width - 160, 66 + number * 17), colour, 4)
        drawing.text((left + width - 150, 70 + number * 17), name, 12, FAINT)
    drawing.text((left, bottom + 18), "begin of the drain", 12, FAINT)
    drawing.text((left + width, bottom + 18), "end", 12, FAINT, "end")


def _course(claims: Sequence[Step], share: float) -> list[float]:
    """A percentile, in milliseconds, for each part of the drain in turn."""
    size = max(1, len(claims) // PARTS)
    parts = [claims[start : start + size] for start in range(0, len(claims), size)]
    return [percentile([step.seconds * MS for step in part], share) for part in parts]


def foreground(results: Results) -> str:
    """How long readers and writers wait, idle and beside a drain."""
    phases = results.foreground
    drawing = SvgDrawing(WIDTH, 70 + len(phases) * 92)
    _heading(
        drawing, "Foreground", "readers and writers of pastes beside a drain; waiting time in milliseconds"
    )
    end = scale_top(max(phase.waiting(0.99) for phase in phases) * MS)
    for number, phase in enumerate(phases):
        _phase(drawing, phase, 70 + number * 92, end)
    return drawing.svg("Waiting time of readers and writers beside a drain")


def _phase(drawing: SvgDrawing, phase: Phase, top: float, end: float) -> None:
    drawing.text((LABELS, top + 40), phase.name, 13, anchor="end", bold=True)
    if phase.rows_per_second:
        drawing.text((LABELS, top + 58), f"{phase.rows_per_second:,.0f} rows/s drained", 12, FAINT, "end")
    room = WIDTH - LABELS - MARGIN - 110
    shown = (("p50", 0.5, SECOND), ("p90", 0.9, OURS), ("p99", 0.99, OTHERS))
    for number, (name, share, colour) in enumerate(shown):
        seconds = phase.waiting(share)
        y = top + 10 + number * 24
        drawing.text((LABELS + 14, y + 14), name, 12, FAINT)
        drawing.bar((LABELS + 44, y + 3), room * seconds * MS / end, 15, colour)
        words = f"{seconds * MS:.2f} ms"
        drawing.text((LABELS + 52 + max(1.5, room * seconds * MS / end), y + 14), words, 12, FAINT)


def _axis(drawing: SvgDrawing, origin: Point, width: float, height: float, end: float, unit: str) -> None:
    left, bottom = origin
    drawing.text((left, bottom - height - 14), unit, 12, FAINT)
    for part in range(5):
        y = bottom - height * part / 4
        drawing.line((left, y), (left + width, y), INK if part == 0 else GRID)
        drawing.text((left - 8, y + 4), f"{end * part / 4:g}", 11, FAINT, "end")


def _heading(drawing: SvgDrawing, title: str, explanation: str) -> None:
    drawing.text((MARGIN, 34), title, 18, bold=True)
    drawing.text((MARGIN, 54), explanation, 12, FAINT)


def _colour(variant: Variant) -> str:
    if variant == FLOOR:
        return LIMIT
    return OURS if "reaper" in variant.name else OTHERS


def _short(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio >= 0.01 else f"{ratio:.3f}"
