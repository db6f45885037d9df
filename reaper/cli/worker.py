"""`reaper worker`: runs the drain and all services on schedule."""

from __future__ import annotations

from typing import Annotated

import typer

from reaper.cli import options

_Queues = Annotated[
    str | None,
    typer.Option(
        "--queues",
        metavar="NAMES",
        help="Take jobs from these queues, separated by commas.",
        show_default="reaper",
    ),
]
_Slots = Annotated[
    int,
    typer.Option(
        "--slots",
        metavar="N",
        min=1,
        max=64,
        help="Drain jobs that this process runs side by side; all together: reaper.settings.drain_slots.",
    ),
]
_Concurrency = Annotated[
    int | None,
    typer.Option(
        "--concurrency",
        metavar="N",
        min=2,
        max=200,
        help="Jobs of all kinds at the same time.",
        show_default="slots + 4",
    ),
]
_HealthPort = Annotated[
    int | None,
    typer.Option(
        "--health-port",
        metavar="PORT",
        min=0,
        max=65535,
        help="Answer /live, /ready and /metrics here.",
        show_default=False,
    ),
]
_HealthAddress = Annotated[
    str | None,
    typer.Option(
        "--health-address",
        metavar="ADDRESS",
        help="Where the health port listens; 0.0.0.0 or :: is every interface. Also REAPER_HEALTH_ADDRESS.",
        show_default="127.0.0.1",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("worker")(worker)


def worker(
    queues: _Queues = None,
    slots: _Slots = 2,
    concurrency: _Concurrency = None,
    health_port: _HealthPort = None,
    health_address: _HealthAddress = None,
    batch_size: options.BatchSize = None,
    rows_per_second: options.RowsPerSecond = None,
    verbose: options.Verbose = False,
    log_json: options.LogJson = False,
    metrics_file: options.MetricsFile = None,
    database_url: options.Dsn = None,
) -> None:
    """Run the drain and all services on schedule, until told to stop. Start as many as you like, anywhere.

    SIGTERM and Ctrl-C stop it within 20 seconds; killing it at any moment loses nothing. It never ends with
    code 0 by itself: without its database it ends with 3 or 5, and must be started again.
    """
    from reaper import config
    from reaper.app import App
    from reaper.worker.heartbeat import worker_name
    from reaper.worker.options import QUEUE, WorkerOptions

    name = worker_name()
    options.set_up_logging(verbose, log_json, name)
    settings = config.load_all(
        *("database_url", "backends", "stuck_after"),
        database_url=database_url,
        batch_size=batch_size,
        rows_per_second=rows_per_second,
        health_address=health_address,
    )
    names = tuple(name.strip() for name in (QUEUE if queues is None else queues).split(",") if name.strip())
    if not names:
        raise typer.BadParameter("at least one queue is needed", param_hint="--queues")
    with App(settings, worker=name) as app, app.metrics_written_to(metrics_file):
        app.check()
        app.work(WorkerOptions(names, slots, concurrency, health_port, settings.health_address))
