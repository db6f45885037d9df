"""What a background service is, and how to add one.

A service keeps something true, a bounded piece at a time. It is one file in `reaper/services/`, which ends in

    SERVICE = Service("prune", "1 hour", tick, "forgets finished jobs and old history")

and one line in the tuple `ALL` of `reaper/services/__init__.py`. Nothing else: every worker enters it into
`reaper.services` when it starts, the tick queues it when its time has come, and whichever worker is free runs
it. What a DBA changed there (schedule, pause, switch) is stronger than what the file says.

The `tick` is the work. It gets `Tools` and returns a `Tick`:
- It asks PostgreSQL through `tools.ask`, and does what is outside through `tools.lane` and its ports; it
  opens no connection and keeps nothing between two ticks, because the next one may run on another host.
- It works in bounded batches and looks at `tools.stop` between two of them: the time budget may be over, the
  process may be ending, or the connection that holds the service's lock may be lost. Then it returns.
- With `Tick(..., more=True)` it asks to be called again at once, because its last batch was full.
- It may be killed anywhere and run again, so every step is either one SQL function or bears repetition.
- It raises what goes wrong. The run is recorded as failed, with the text, and the next one is on schedule.

A service is alone unless it says `locked=False`: its run holds an advisory lock, and a second one is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar

from reaper.concurrency import Stop
from reaper.expiry.lane import Lane
from reaper.queries import Queries

T = TypeVar("T")


@dataclass(frozen=True)
class Tools:
    """What a tick works with; its own for each run."""

    lane: Lane
    stuck_after: timedelta

    @property
    def stop(self) -> Stop:
        """Whether to return at the next good moment."""
        return self.lane.stop

    def ask(self, question: Callable[[Queries], T]) -> T:
        """The answer of one SQL function."""
        return self.lane.session.call(question)


@dataclass(frozen=True)
class Tick:
    """What a run did, as figures that operators see, and whether there is more to do at once."""

    figures: Mapping[str, int] = field(default_factory=dict)
    more: bool = False


@dataclass(frozen=True)
class Service:
    """A declaration; see the top of this file."""

    name: str
    schedule: str
    tick: Callable[[Tools], Tick]
    description: str
    locked: bool = True
    enabled: bool = True
