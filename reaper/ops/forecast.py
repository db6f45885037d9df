"""What a drain would do now, and what that costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass

from reaper.model import START
from reaper.queries import Queries
from reaper.queries.expiry import DrainForecast, PlanPage

# What one call of DeleteObjects takes.
KEYS_PER_CALL = 1000
# Rows of a page: a statement of well under a second.
PAGE = 10_000


@dataclass(frozen=True)
class DrainPlan:
    """A forecast with what it costs at one batch size."""

    forecast: DrainForecast
    batch_size: int
    # At most so many rows per second; None is as fast as it goes.
    pace: int | None = None

    @property
    def rows(self) -> int:
        """Rows that the drain would try to delete."""
        forecast = self.forecast
        return max(forecast.rows_due - forecast.rows_blocked - forecast.rows_in_progress, 0)

    @property
    def batches(self) -> int:
        """How many claims that takes."""
        return math.ceil(self.rows / self.batch_size)

    @property
    def s3_calls(self) -> int:
        """At least so many: objects come in batches, and a batch's objects in calls of up to 1000."""
        most_per_call = min(self.batch_size, KEYS_PER_CALL)
        return max(
            math.ceil(self.forecast.objects_freed / most_per_call),
            min(self.batches, self.forecast.objects_freed),
        )

    @property
    def redis_round_trips(self) -> int:
        """Lock, unlock and one pipeline for each batch."""
        return 3 * self.batches

    @property
    def seconds(self) -> float | None:
        """At the speed of the last runs, or at the pace where that is slower; None when neither is known."""
        return float(self.rows / self.speed) if self.speed else None

    @property
    def speed(self) -> float | None:
        """Rows per second."""
        known = [float(each) for each in (self.forecast.rows_per_second, self.pace) if each]
        return min(known, default=None)

    def as_dict(self) -> dict[str, object]:
        """For machines."""
        return {
            **asdict(self.forecast),
            "batch_size": self.batch_size,
            "batches": self.batches,
            "s3_calls": self.s3_calls,
            "redis_round_trips": self.redis_round_trips,
            "pace": self.pace,
            "seconds": self.seconds,
        }


def count_exactly(q: Queries, watch: Callable[[int], None]) -> DrainForecast:
    """What a drain would do now, counted page by page; `watch` is told how many rows each page had."""
    pages = [q.plan_page(None, START, PAGE, ())]
    judged = list(pages[0].judged)
    watch(pages[0].rows_due)
    while pages[-1].rows_due == PAGE:
        pages.append(q.plan_page(pages[0].counted_at, pages[-1].cursor, PAGE, judged))
        judged += pages[-1].judged
        watch(pages[-1].rows_due)
    return _sum(pages, q)


def _sum(pages: list[PlanPage], q: Queries) -> DrainForecast:
    return DrainForecast(
        rows_due=sum(page.rows_due for page in pages),
        rows_blocked=sum(page.rows_blocked for page in pages),
        oldest_due=pages[0].oldest_due,
        objects_freed=sum(page.objects_freed for page in pages),
        bytes_freed=sum(page.bytes_freed for page in pages),
        objects_kept=sum(page.objects_kept for page in pages),
        rows_per_second=q.recent_speed().rows_per_second,
        rows_in_progress=sum(page.rows_in_progress for page in pages),
        objects_unsized=sum(page.objects_unsized for page in pages),
    )
