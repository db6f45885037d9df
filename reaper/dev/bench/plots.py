"""The three plots: how fast, how steady, and what others notice."""

from __future__ import annotations

from collections.abc import Sequence

from reaper.dev.bench.canvas import FAINT, GRID, INK, LIMIT, OTHERS, OURS, SECOND, Canvas, Point, scale_top
from reaper.dev.bench.contestant import Step
from reaper.dev.bench.entries import FLOOR
from reaper.dev.bench.foreground import Phase
from reaper.dev.bench.results import Results
from reaper.dev.bench.rounds import Rounds
from reaper.dev.bench.statistics import percentile
from reaper.dev.bench.tournament import Entry, Run
from reaper.dev.bench.workload import Workload

WIDTH, MARGIN = 860.0, 28.0
LABELS = 250.0
ROW = 24.0
MS = 1000.0
# A drain is cut into so many parts of equal length, and each part's claims are summed up in one point.
PARTS = 20


def throughput(results: Results) -> str:
    """Rows a second of everybody, on the two main workloads."""
    workloads = results.workloads()[:2]
    heights = [56 + ROW * len(results.entries(w)) for w in workloads]
    canvas = Canvas(WIDTH, sum(heights) + 62)
    _heading(canvas, "Throughput", "rows per second, median of the rounds; ÷ floor in brackets")
    top = 70.0
    for workload, height in zip(workloads, heights, strict=True):
        _bars(canvas, results, workload, top)
        top += height
    return canvas.svg("Throughput of each contestant")


def _bars(canvas: Canvas, results: Results, workload: Workload, top: float) -> None:
    canvas.text((MARGIN, top + 18), f"{workload.name}, {workload.due:,} due rows", bold=True)
    rates = {entry: results.rate(workload, entry) for entry in results.entries(workload)}
    end = scale_top(max(rates.values()))
    room = WIDTH - LABELS - MARGIN - 120
    for place, (entry, rate) in enumerate(rates.items()):
        y = top + 30 + place * ROW
        canvas.text((LABELS, y + 14), entry.name, 12, anchor="end")
        canvas.bar((LABELS + 10, y + 3), room * rate / end, ROW - 8, _colour(entry))
        ratio = results.ratio(workload, entry, FLOOR)
        sampled = "≈ " if entry.contestant.sample is not None else ""
        words = f"{rate:,.0f}" if entry == FLOOR else f"{sampled}{rate:,.0f}  ({_short(ratio)})"
        canvas.text((LABELS + 18 + max(1.5, room * rate / end), y + 14), words, 12, FAINT)


def growth(results: Results) -> str:
    """What a row costs by size of the table; how long claims take over the course of a drain."""
    canvas = Canvas(WIDTH, 330)
    _heading(
        canvas,
        "Growth",
        "one worker; left: cost of a row by number of due rows; right: claims during a drain",
    )
    _cost_by_size(canvas, results.growth.sizes)
    _claims(canvas, results.growth.free.typical, results.growth.pinned.typical)
    return canvas.svg("Cost per row by size, and claim latency over the course of a drain")


def _cost_by_size(canvas: Canvas, sizes: Sequence[Rounds]) -> None:
    left, bottom, height, width = MARGIN + 40, 280.0, 170.0, 250.0
    costs = [rounds.seconds_per_row * 1e6 for rounds in sizes]
    end = scale_top(max(costs))
    _axis(canvas, (left, bottom), width, height, end, "µs per row")
    slot = width / len(sizes)
    for place, (rounds, cost) in enumerate(zip(sizes, costs, strict=True)):
        x, tall = left + slot * place + slot / 2, height * cost / end
        canvas.bar((x - 22, bottom - tall), 44, tall, OURS)
        canvas.text((x, bottom - tall - 6), f"{cost:.0f}", 12, INK, "middle")
        canvas.text((x, bottom + 18), f"{rounds.workload.due:,}", 12, FAINT, "middle")


def _claims(canvas: Canvas, free: Run, pinned: Run) -> None:
    left, bottom, height, width = 400.0, 280.0, 170.0, WIDTH - 400 - MARGIN - 10
    curves = [
        ("snapshot pinned, longest", OTHERS, _course(pinned.claims, 1.0)),
        ("no snapshot pinned, longest", OURS, _course(free.claims, 1.0)),
        ("no snapshot pinned, p50", SECOND, _course(free.claims, 0.5)),
    ]
    end = scale_top(max((value for _, _, course in curves for value in course), default=1.0))
    _axis(canvas, (left, bottom), width, height, end, "claim, ms")
    for place, (name, colour, course) in enumerate(curves):
        step = width / max(1, len(course) - 1)
        canvas.curve([(left + step * n, bottom - height * v / end) for n, v in enumerate(course)], colour)
        canvas.dot((left + width - 160, 66 + place * 17), colour, 4)
        canvas.text((left + width - 150, 70 + place * 17), name, 12, FAINT)
    canvas.text((left, bottom + 18), "begin of the drain", 12, FAINT)
    canvas.text((left + width, bottom + 18), "end", 12, FAINT, "end")


def _course(claims: Sequence[Step], share: float) -> list[float]:
    """A percentile, in milliseconds, for each part of the drain in turn."""
    size = max(1, len(claims) // PARTS)
    parts = [claims[start : start + size] for start in range(0, len(claims), size)]
    return [percentile([step.seconds * MS for step in part], share) for part in parts]


def foreground(results: Results) -> str:
    """How long visitors wait, idle and beside a drain."""
    phases = results.foreground
    canvas = Canvas(WIDTH, 70 + len(phases) * 92)
    _heading(
        canvas, "Foreground", "readers and writers of pastes beside a drain; waiting time in milliseconds"
    )
    end = scale_top(max(phase.waiting(0.99) for phase in phases) * MS)
    for place, phase in enumerate(phases):
        _phase(canvas, phase, 70 + place * 92, end)
    return canvas.svg("Waiting time of readers and writers beside a drain")


def _phase(canvas: Canvas, phase: Phase, top: float, end: float) -> None:
    canvas.text((LABELS, top + 40), phase.name, 13, anchor="end", bold=True)
    if phase.rows_per_second:
        canvas.text((LABELS, top + 58), f"{phase.rows_per_second:,.0f} rows/s drained", 12, FAINT, "end")
    room = WIDTH - LABELS - MARGIN - 110
    shown = (("p50", 0.5, SECOND), ("p90", 0.9, OURS), ("p99", 0.99, OTHERS))
    for place, (name, share, colour) in enumerate(shown):
        seconds = phase.waiting(share)
        y = top + 10 + place * 24
        canvas.text((LABELS + 14, y + 14), name, 12, FAINT)
        canvas.bar((LABELS + 44, y + 3), room * seconds * MS / end, 15, colour)
        words = f"{seconds * MS:.2f} ms"
        canvas.text((LABELS + 52 + max(1.5, room * seconds * MS / end), y + 14), words, 12, FAINT)


def _axis(canvas: Canvas, origin: Point, width: float, height: float, end: float, unit: str) -> None:
    left, bottom = origin
    canvas.text((left, bottom - height - 14), unit, 12, FAINT)
    for part in range(5):
        y = bottom - height * part / 4
        canvas.line((left, y), (left + width, y), INK if part == 0 else GRID)
        canvas.text((left - 8, y + 4), f"{end * part / 4:g}", 11, FAINT, "end")


def _heading(canvas: Canvas, title: str, explanation: str) -> None:
    canvas.text((MARGIN, 34), title, 18, bold=True)
    canvas.text((MARGIN, 54), explanation, 12, FAINT)


def _colour(entry: Entry) -> str:
    if entry == FLOOR:
        return LIMIT
    return OURS if "reaper" in entry.name else OTHERS


def _short(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio >= 0.01 else f"{ratio:.3f}"
