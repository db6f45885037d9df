"""A worker in a process of its own: the command as a person runs it, or one with services of a test."""

import os
import sys
from collections.abc import Sequence

from reaper import config
from reaper.app import App
from reaper.cli import main as command
from reaper.cli.options import set_up_logging
from reaper.errors import ReaperError
from reaper.services.base import Service
from reaper.worker.options import WorkerOptions


def main(variables: dict[str, str], log: str, arguments: Sequence[str]) -> None:
    """`reaper worker`, with its standard error in a file."""
    _enter(variables, log)
    sys.argv = ["reaper", "worker", *arguments]
    command()


def serve(variables: dict[str, str], log: str, options: WorkerOptions, services: Sequence[Service]) -> None:
    """A worker that knows other services."""
    _enter(variables, log)
    set_up_logging(verbose=False, log_json=True)
    try:
        with App(config.load("database_url", "backends")) as app:
            app.work(options, services)
    except ReaperError as error:
        sys.exit(int(error.exit_code))


def _enter(variables: dict[str, str], log: str) -> None:
    os.environ.update(variables)
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), sys.stderr.fileno())
