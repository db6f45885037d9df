"""What a drain would do now, and what that costs."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from reaper.queries.expiry import DrainForecast

# What one call of DeleteObjects takes.
KEYS_PER_CALL = 1000


@dataclass(frozen=True)
class DrainPlan:
    """A forecast with what it costs at one batch size."""

    forecast: DrainForecast
    batch_size: int

    @property
    def rows(self) -> int:
        """Rows that the drain would try to delete."""
        return max(self.forecast.rows_due - self.forecast.rows_blocked, 0)

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
        """At the speed of the last runs; None when there was none."""
        speed = self.forecast.rows_per_second
        return float(self.rows / speed) if speed else None

    def as_dict(self) -> dict[str, object]:
        """For machines."""
        return {
            **asdict(self.forecast),
            "batch_size": self.batch_size,
            "batches": self.batches,
            "s3_calls": self.s3_calls,
            "redis_round_trips": self.redis_round_trips,
            "seconds": self.seconds,
        }
