"""`reaper jobs …`: the queue, and the jobs of dead workers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from reaper.cli import formatting, options
from reaper.cli.database_connection import asking
from reaper.cli.tables import Column, show_table
from reaper.errors import Exit

if TYPE_CHECKING:
    from reaper.queries.jobs import Job

_Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, max=10_000, help="Show the newest N.")]
_Silence = Annotated[
    str,
    typer.Option(
        "--silence", metavar="SPAN", help="A worker without a heartbeat for this long counts as dead."
    ),
]
_COLOUR = {"todo": "cyan", "doing": "green", "failed": "red", "aborted": "yellow", "cancelled": "yellow"}

group = typer.Typer(help="List the job queue; free the jobs of dead workers.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.add_typer(group, name="jobs")


@group.command("list")
def list_jobs(limit: _Limit = 100, as_json: options.Json = False, database_url: options.Dsn = None) -> None:
    """Show what waits, what runs, and what failed and why; jobs that succeed are deleted at once.

    Exit code 1 when a job runs on no living worker: `reaper jobs rescue` frees it.
    """
    with asking("operator", database_url) as q:
        found = q.jobs(limit)
    if as_json:
        formatting.print_json(found)
    else:
        _show(found)
    raise typer.Exit(Exit.BEHIND if any(job.wedged for job in found) else Exit.OK)


@group.command("rescue")
def rescue(
    silence: _Silence = "2 min", as_json: options.Json = False, database_url: options.Dsn = None
) -> None:
    """Free the jobs of dead workers now; the service job_rescue does it every minute."""
    span = options.duration(silence, "--silence")
    with asking("operator", database_url) as q:
        rescued = q.rescue_jobs(1000, span)
    if as_json:
        formatting.print_json(rescued)
        return
    for job in rescued:
        typer.echo(f"{job.job_id} {job.task}: {job.outcome}")
    typer.echo(f"{formatting.count(len(rescued), 'job')} of dead workers freed")


def _show(found: list[Job]) -> None:
    if found:
        columns = (Column("id", number=True), Column("since"), Column("status"), Column("job", wraps=True))
        show_table(columns, [_row(job) for job in found])
    counts = Counter(job.status for job in found)
    typer.echo(", ".join(f"{number} {status}" for status, number in sorted(counts.items())) or "no jobs")


def _row(job: Job) -> tuple[str, ...]:
    lines = [escape(job.lock or job.task)]
    lines += ["[red]its worker is dead[/]"] if job.wedged else []
    lines += [f"[dim]{escape(job.last_error)}[/]"] if job.last_error else []
    status = f"[{_COLOUR.get(job.status, 'dim')}]{job.status}[/]"
    return str(job.job_id), formatting.second(job.since), status, "\n".join(lines)
