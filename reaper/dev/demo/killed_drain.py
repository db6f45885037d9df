"""A drain that is killed in the middle of a batch: rows and references are gone, cache and objects are not.

Run as a process of its own by the demo; its environment says where everything is.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from reaper import config
from reaper.app import App
from reaper.dev import fault_points

BATCHES_BEFORE = 2


class KillAfterBatches:
    """Kills the process when it has released a batch for the third time."""

    def __init__(self) -> None:
        self._released = 0

    def __call__(self, point: str, call: Callable[..., Any], *arguments: Any) -> Any:
        """Called instead of every call to the outside."""
        answer = call(*arguments)
        if point == "drop_batch":
            self._released += 1
            if self._released > BATCHES_BEFORE:
                os.kill(os.getpid(), signal.SIGKILL)
        return answer


def main() -> None:
    """Drain until killed."""
    app = App(config.load_all("database_url", "s3_bucket"), fault_points.intercepted(KillAfterBatches()))
    app.drain(workers=1)


if __name__ == "__main__":
    main()
