"""A worker in a process of its own: the command as a person runs it, or one with services of a test."""

import os
import sys
from collections.abc import Sequence

from reaper.cli import main as command
from reaper.cli.options import set_up_logging
from reaper.errors import ReaperError
from reaper.services.base import Service
from reaper.worker.options import WorkerOptions
from tests.support.wiring import Wiring


def main(wiring: Wiring, log: str, arguments: Sequence[str]) -> None:
    """`reaper worker`, with its standard error in a file."""
    _enter(wiring, log)
    sys.argv = ["reaper", "worker", *arguments]
    command()


def serve(wiring: Wiring, log: str, options: WorkerOptions, services: Sequence[Service]) -> None:
    """A worker that knows other services."""
    _enter(wiring, log)
    set_up_logging(verbose=False, log_json=True)
    try:
        with wiring.app() as app:
            app.work(options, services)
    except ReaperError as error:
        sys.exit(int(error.exit_code))


def _enter(wiring: Wiring, log: str) -> None:
    os.environ.update(wiring.variables)
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), sys.stderr.fileno())
