"""Keeps the state gauges of this process young, on a thread: who reads them does not wait for PostgreSQL."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

from reaper.errors import ReaperError
from reaper.queries import Ask
from reaper.telemetry.events import Telemetry

# With what PostgreSQL allows the snapshot to be (8 s), and the time that making it takes: below 15 s.
EVERY = 4.0


class StateWatch:
    """Looks while it is entered, at its begin and once more at its end."""

    def __init__(self, ask: Ask, telemetry: Telemetry, every: float = EVERY) -> None:
        self._ask = ask
        self._telemetry = telemetry
        self._every = every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="state", daemon=True)

    def look(self) -> None:
        """Show the snapshot of now; what PostgreSQL does not tell is not shown once it is old."""
        try:
            snapshot = self._ask(lambda q: q.refresh_state())
        except ReaperError as error:
            self._telemetry.state_unknown(error)
        else:
            self._telemetry.state(
                snapshot.taken_at.timestamp(), snapshot.age.total_seconds(), snapshot.gauges
            )

    def _run(self) -> None:
        self.look()
        while not self._stop.wait(self._every):
            self.look()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self.look()
