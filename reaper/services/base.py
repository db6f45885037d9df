"""What a background service is, and how to add one.

A service keeps something true, a bounded piece at a time. It is one file in `reaper/services/`, which ends in

    SERVICE = Service("prune", "1 hour", tick, "deletes finished jobs and old history")

and one line in the tuple `ALL` of `reaper/services/__init__.py`. Nothing else: `reaper migrate`, and every
worker when it starts, enters it into `reaper.services`, the schedule queues it when its time has come, and
whichever worker is free runs it. What a DBA changed there (schedule, pause, switch) is
stronger than what the file says.

The `tick` is the work. It gets a `Context` and returns a `Tick`:
- It asks PostgreSQL through `context.ask`, and does what is outside through `context.stores` and
  `context.cache`; it opens no connection and keeps nothing between two ticks, because the next one may run on
  another host.
- It works in bounded batches and looks at `context.stop` between two of them: the time budget may be over,
  the process may be ending, or the service's lease may be lost. Then it returns.
- What it did, `Tick.figures`, is recorded with the run, shown to operators, and counted by the metric
  `reaper_service_items_total{service,outcome}`: a number for each outcome, under a plain participle.
- With `Tick(..., more=True)` it asks to be called again at once, because its last batch was full.
- It may be killed anywhere and run again, so every step is either one SQL function or bears repetition.
- It raises what goes wrong. The run is recorded as failed, with the text, and the next one is on schedule.

A service is alone unless it says `locked=False`, or `only_locked_with_redis=True` where there is no Redis:
its run holds a lease, and a second one is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from reaper.concurrency import Stop
from reaper.expiry.deletion_retries import Retries
from reaper.expiry.lane import Drained
from reaper.expiry.settler import Adopted
from reaper.model import Waiting
from reaper.ports import Cache, ObjectStore, Webhooks
from reaper.queries import Ask
from reaper.telemetry.events import Telemetry

if TYPE_CHECKING:
    from reaper.config import Settings


class UsageTotals(Protocol):
    """What is known of the usage of all processes."""

    def flush_all(self) -> int:
        """Bring it to PostgreSQL; returns how many rows that changed."""

    def forget_silent(self) -> int:
        """Forget who is silent for long; returns how many."""


@dataclass(frozen=True)
class Context:
    """What a tick works with; its own for each run."""

    ask: Ask
    stores: Mapping[str, ObjectStore]
    cache: Cache
    telemetry: Telemetry
    # Whether to return at the next good moment; `budget` seconds after the start at the latest.
    stop: Stop
    budget: float
    settings: Settings
    retries: Retries
    # Made when it is first asked for: only one service tells webhooks.
    webhooks: Callable[[], Webhooks]
    # Settle the released batches that no worker holds; take a lane through the backlog.
    adopt: Callable[[], Adopted]
    drain: Callable[[], Drained]
    # Before content is released or objects deleted: find out whether objects lie under the bound keys.
    look_for_objects: Callable[[], object]
    # What all processes have told of their requests.
    usage: UsageTotals


@dataclass(frozen=True)
class Tick:
    """What a run did, as figures that operators see, and whether there is more to do at once."""

    figures: Mapping[str, int] = field(default_factory=dict)
    more: bool = False
    # What is queued for this service and not due yet.
    waiting: Waiting | None = None


@dataclass(frozen=True)
class Service:
    """A declaration; see the top of this file."""

    name: str
    schedule: str
    tick: Callable[[Context], Tick]
    description: str
    locked: bool = True
    # Alone only where Redis is configured, whether or not it answers.
    only_locked_with_redis: bool = False
    enabled: bool = True
    # Whether `reaper worker` queues it at once when it starts, whatever the schedule says.
    at_start: bool = False
    # Whether it deletes or stores objects; who runs one by hand finds out first whose the buckets are.
    changes_buckets: bool = True

    def where(self, *, has_redis: bool) -> Service:
        """The service as it runs where Redis is configured, or is not."""
        return replace(self, locked=has_redis) if self.only_locked_with_redis else self
