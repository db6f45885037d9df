"""What events cost a drain: a webhook that is told of everything, none, and none without the look for one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from reaper import db
from reaper.dev.bench.repeated_runs import Rounds
from reaper.dev.bench.runner import Runner
from reaper.dev.bench.server_addresses import Addresses
from reaper.dev.bench.side_by_side import Entry, run_rounds
from reaper.dev.bench.variants import DIRECT, FLOOR
from reaper.dev.bench.workload import Workload
from reaper.errors import ReaperError

# One worker: what it does beside its rows is not hidden by waiting for another.
DRAIN = DIRECT[1]
ROUNDS = 5
_ADD = "select reaper.add_webhook('everything', 'https://hooks.example.com/', '{*}')"
_NO_LOOK = """
create or replace function reaper_internal.is_subscribed(p_type text) returns boolean
    language sql immutable as $$ select false $$
"""
_QUEUED = "select outbox_id from reaper.notification_outbox limit 1"


@dataclass(frozen=True)
class WebhookCost:
    """Drains of the same table, in turn."""

    floor: Rounds
    no_look: Rounds
    none: Rounds
    everything: Rounds

    @property
    def look(self) -> float:
        """Speed without a webhook ÷ speed without the look for one."""
        return 1 / self.none.times_slower(self.no_look)

    @property
    def ratio(self) -> float:
        """Speed with a webhook that is told of everything ÷ speed without one."""
        return 1 / self.everything.times_slower(self.none)

    @property
    def look_by_cpu(self) -> float:
        """The same as look, of CPU times: what other programs do hardly shows in them."""
        return 1 / self.none.times_more_cpu(self.no_look)

    @property
    def ratio_by_cpu(self) -> float:
        """The same as ratio, of CPU times."""
        return 1 / self.everything.times_more_cpu(self.none)

    @property
    def problems(self) -> list[str]:
        """What the runs left behind and had promised to delete."""
        parts = (self.floor, self.no_look, self.none, self.everything)
        return [problem for part in parts for run in part.runs for problem in run.problems]

    def as_json(self) -> str:
        """For machines."""
        parts = {"no_look": self.no_look, "none": self.none, "everything": self.everything}
        return json.dumps(
            {
                "rows": self.none.typical.rows,
                "rounds": len(self.none.runs),
                "rows_per_second": {name: round(part.typical.rate) for name, part in parts.items()},
                "times_the_floor": {
                    name: round(part.times_slower(self.floor), 3) for name, part in parts.items()
                },
                "cpu_us_per_row": {name: round(part.cpu_per_row, 1) for name, part in parts.items()},
                "look": round(self.look, 3),
                "look_by_cpu": round(self.look_by_cpu, 3),
                "ratio": round(self.ratio, 3),
                "ratio_by_cpu": round(self.ratio_by_cpu, 3),
            }
        )


def measure(runner: Runner, table: Workload, rounds: int = ROUNDS) -> WebhookCost:
    """Rounds in turn, each on a fresh copy; nothing is sent, only queued."""
    entries = (
        Entry("the floor", table, FLOOR),
        Entry("no webhook, and no look for one", table, DRAIN, _without_look),
        Entry("no webhook", table, DRAIN),
        Entry("a webhook for everything", table, DRAIN, _with_webhook),
    )
    return WebhookCost(*run_rounds(runner, entries, rounds))


@contextmanager
def _without_look(addresses: Addresses) -> Iterator[None]:
    with db.connect(addresses.dsn, "bench:webhook") as connection:
        connection.execute(_NO_LOOK)
    yield


@contextmanager
def _with_webhook(addresses: Addresses) -> Iterator[None]:
    with db.connect(addresses.dsn, "bench:webhook") as connection:
        connection.execute(_ADD)
        yield
        if not connection.execute(_QUEUED).fetchone():
            raise ReaperError("the drain queued no event for its webhook")
