"""The few statistics that a benchmark needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

__all__ = ["median", "paired_ratio", "percentile", "spread"]


def percentile(values: Sequence[float], share: float) -> float:
    """The value that so large a share of all values does not exceed."""
    if not values:
        return math.nan
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def spread(values: Sequence[float]) -> float:
    """How far the rounds lie apart, as a share of their median."""
    middle = median(values) if values else 0
    return (max(values) - min(values)) / middle if middle else 0.0


def paired_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of each round's own ratio: what disturbs a whole round disturbs both sides of it."""
    ratios = [a / b for a, b in zip(ours, theirs, strict=False) if b]
    return median(ratios) if ratios else math.nan
