"""Options that several commands share."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from reaper.config.units import parse_duration

Dsn = Annotated[
    str | None,
    typer.Option(
        "--database-url",
        metavar="URL",
        help="The database, instead of REAPER_DATABASE_URL.",
        show_default=False,
    ),
]
BatchSize = Annotated[
    int | None,
    typer.Option(
        "--batch-size",
        metavar="N",
        min=1,
        max=10_000,
        help="Rows per batch.",
        show_default="REAPER_BATCH_SIZE, else reaper.settings",
    ),
]
Exact = Annotated[
    bool, typer.Option("--exact", help="Count every due row instead of estimating what is over 10,000.")
]
RowsPerSecond = Annotated[
    int | None,
    typer.Option(
        "--rows-per-second",
        metavar="N",
        min=1,
        help="Delete no more rows per second than this.",
        show_default="REAPER_ROWS_PER_SECOND, else reaper.settings",
    ),
]
DespitePause = Annotated[bool, typer.Option("--despite-pause", help="Run it although it is paused.")]
Json = Annotated[bool, typer.Option("--json", help="Write the result as JSON.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log every batch.")]
LogJson = Annotated[bool, typer.Option("--log-json", help="Log as JSON, also on a terminal.")]
MetricsFile = Annotated[
    Path | None,
    typer.Option(
        "--metrics-file",
        metavar="PATH",
        help="Write Prometheus metrics to this file, for a textfile collector.",
        show_default=False,
    ),
]


def set_up_logging(verbose: bool, log_json: bool, worker: str | None = None) -> None:
    """Readable lines for a person, JSON for a collector."""
    from reaper.telemetry.logging import configure_logging

    configure_logging(logging.DEBUG if verbose else logging.INFO, log_json or not sys.stderr.isatty(), worker)


def stop_on_signals(stop: threading.Event) -> None:
    """SIGINT and SIGTERM ask for a clean stop; a second one ends the process at once."""

    def ask(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        stop.set()

    signal.signal(signal.SIGINT, ask)
    signal.signal(signal.SIGTERM, ask)


def duration(text: str, option: str) -> timedelta:
    """What a person wrote for an option: `30 min`."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None
