"""`reaper verify`: do database, buckets and cache agree?"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from reaper.cli import formatting, options
from reaper.cli.progress import phase_counts
from reaper.cli.tables import console
from reaper.errors import Exit

if TYPE_CHECKING:
    from reaper.ops.verify_report import Report

_Repair = Annotated[
    bool,
    typer.Option(
        "--repair", help="First set wrong ref_counts and byte accounts to what the rows say; deletes nothing."
    ),
]
_AfterRestore = Annotated[
    bool,
    typer.Option("--after-restore", help="List the pastes that lost their content, and what to do about it."),
]
_PlanOrphans = Annotated[
    bool,
    typer.Option(
        "--plan-orphans",
        help="Only count the objects that no row names, as the reconciler has seen them, and what"
        " `reaper orphans delete` would delete.",
    ),
]
_EXAMPLES = 5
_EXAMPLES_AFTER_RESTORE = 50
_AFTER_RESTORE = (
    "These objects were deleted after the moment to which the database was set back. Before the application",
    "writes again, bring them back under the same keys (from the bucket's versions, a replica or a backup),",
    "or let the pastes expire:",
    "  update public.pastes set expires_at = now() where content_hash in (…);",
    "then `reaper drain`, and `reaper verify` again.",
)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("verify")(verify)


def verify(
    repair: _Repair = False,
    after_restore: _AfterRestore = False,
    plan_orphans: _PlanOrphans = False,
    as_json: options.Json = False,
    database_url: options.Dsn = None,
) -> None:
    """Compare database, buckets and cache, both ways, while workers run.

    Reads every content row, every object and every cache entry once; changes nothing unless --repair is
    given. Run --after-restore after a restore, or a failover that lost commits, before the application writes
    again; run --repair while no writer counts its references in another transaction than it inserts or
    deletes them. Exit code 0 when all agree, 1 when something was found.
    """
    if plan_orphans:
        from reaper.cli.integrity import show_orphans

        show_orphans(timedelta(days=7), as_json, database_url)
        return
    from reaper import config
    from reaper.app import App

    options.set_up_logging(verbose=False, log_json=False)
    settings = config.load_all("database_url", "backends", database_url=database_url)
    with App(settings) as app, phase_counts(hidden=as_json) as watch:
        app.check(register=False)
        report = app.verify(repair, watch)
    if as_json:
        formatting.print_json(report.as_dict())
    else:
        _show(report, after_restore)
    raise typer.Exit(Exit.OK if report.clean else Exit.BEHIND)


def _show(report: Report, after_restore: bool) -> None:
    out = console()
    for line in _lines(report, _EXAMPLES_AFTER_RESTORE if after_restore else _EXAMPLES):
        out.print(line)
    if after_restore and report.lost:
        out.print()
        for text in _AFTER_RESTORE:
            out.print(text)


def _lines(report: Report, examples: int) -> Iterator[str]:
    for repair in report.repaired[:examples]:
        yield f"repaired    {escape(repair.content_hash)}: ref_count {repair.was} → {repair.now}"
    for account in report.repaired_accounts:
        yield f"repaired    {account.backend}: {account.kind} bytes {account.was:,} → {account.now:,}"
    yield "looked at   " + ", ".join(f"{number:,} {what}" for what, number in report.seen.items() if number)
    yield from (f"[yellow]note[/]        {escape(note)}" for note in report.notes)
    if report.clean:
        yield "[green]database, buckets and cache agree[/]"
    for kind, number in report.counts.items():
        yield f"[red]{escape(kind)}[/]: {number:,}"
        for finding in [f for f in report.findings if f.kind == kind][:examples]:
            yield f"    {escape(finding.subject)}: {escape(finding.detail)}"
        if number > examples:
            yield f"    [dim]and {number - examples:,} more; --json lists up to 1,000[/]"
