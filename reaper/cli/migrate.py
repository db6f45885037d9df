"""`reaper migrate`: bring the database to the schema of this release."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from reaper.cli import options
from reaper.cli.tables import Column, console, show_table

if TYPE_CHECKING:
    from reaper.migrate import Plan, Report
    from reaper.migrate.step import Step

_ToId = Annotated[
    str | None,
    typer.Option(
        "--to", metavar="ID", help="Stop at this migration, forward or back; `base` undoes them all."
    ),
]
_PlanOnly = Annotated[
    bool, typer.Option("--plan", help="Show the steps and the locks of each; change nothing.")
]
_Sql = Annotated[
    bool, typer.Option("--sql", help="Print the SQL for review, with the locks of each step; change nothing.")
]
_Json = Annotated[bool, typer.Option("--json", help="Write the plan or the report as JSON.")]
_Patience = Annotated[
    str,
    typer.Option("--patience", metavar="SPAN", help="How long a step may try to get its locks: 60 s, 5 min."),
]


# One paragraph is one line here, because the help keeps line breaks.
_HELP = """
Bring the database to the schema of this release, while the application runs.

Creates or adopts the tables [bold]content[/] and [bold]pastes[/] in schema public, and makes the schemas \
reaper and procrastinate. Running it again changes nothing; several at once wait for each other. \
Review first, then migrate:

    reaper migrate --plan

    reaper migrate --sql > review.sql

    reaper migrate

Needs REAPER_DATABASE_URL (a URL or key=value pairs, as psql takes them) and a role that owns the database. \
Only creating the roles reaper_* needs more, once; without that right the command prints what a superuser \
must run.
"""


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("migrate", help=_HELP)(migrate)


def migrate(
    plan: _PlanOnly = False,
    sql: _Sql = False,
    to: _ToId = None,
    as_json: _Json = False,
    patience: _Patience = "60 s",
) -> None:
    """Plan, print or run the migration."""
    if plan and sql:
        raise typer.BadParameter("--plan and --sql cannot be combined")
    if sql and as_json:
        raise typer.BadParameter("--sql and --json cannot be combined")
    seconds = options.duration(patience, "--patience").total_seconds()
    from reaper import config
    from reaper.migrate import migrate as run_migration
    from reaper.migrate import plan as make_plan
    from reaper.migrate import render_sql

    dsn = config.load("database_url").dsn
    if sql:
        typer.echo(render_sql(dsn, to=to), nl=False)
    elif plan:
        _show_plan(make_plan(dsn, to=to), as_json)
    else:
        _show_report(run_migration(dsn, to=to, patience=seconds, say=_progress(as_json)), as_json)


def _progress(as_json: bool) -> Callable[[str], None]:
    return lambda line: typer.echo(line, err=as_json)


def _show_plan(plan: Plan, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(plan.as_dict(), indent=2))
        return
    if console().is_terminal and not plan.empty:
        columns = (Column("what it does", wraps=True), Column("locks", wraps=True))
        show_table(columns, [_row(step) for step in _shown(plan)])
    else:
        _echo_all(line for step in _shown(plan) for line in _step_lines(step))
    _echo_all(_other_lines(plan))


def _shown(plan: Plan) -> Iterator[Step]:
    """Every step; those of procrastinate as one."""
    from reaper.migrate.step import Kind

    for kind, group in groupby(plan.steps, key=lambda step: step.kind):
        steps = list(group)
        if kind is Kind.APPLY_PROCRASTINATE:
            title = f"apply {len(steps)} migrations of procrastinate in its own schema"
            yield replace(steps[0], title=title)
        else:
            yield from steps


def _row(step: Step) -> tuple[str, str]:
    locks = escape(step.locks) + ("" if step.transactional else " [dim](no transaction)[/]")
    return escape("\n".join((step.title, *_code_lines(step)))), locks


def _step_lines(step: Step) -> Iterator[str]:
    yield step.title
    yield f"    locks: {step.locks}" + ("" if step.transactional else " (outside a transaction)")
    yield from _code_lines(step)


def _code_lines(step: Step) -> Iterator[str]:
    from reaper.migrate.step import Kind

    if step.kind is Kind.LOAD_CODE:
        yield from (f"    load {path}" for path in step.names)
    yield from (f"    drop {path}" for path in step.dropped)


def _other_lines(plan: Plan) -> Iterator[str]:
    if plan.role_problem:
        yield f"warning: {plan.role_problem.message}. {plan.role_problem.hint}"
    yield from (f"warning: {text}" for text in plan.warnings)
    if plan.empty:
        yield "the schema is up to date; nothing to do"


def _show_report(report: Report, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(report.as_dict(), indent=2))
        return
    _echo_all(_report_lines(report))


def _report_lines(report: Report) -> Iterator[str]:
    if report.roles:
        yield f"created the roles {', '.join(report.roles)}"
    yield from (f"dropped the unfinished index {name}" for name in report.dropped_indexes)
    if report.code_loaded:
        yield f"loaded {len(report.code_loaded)} functions, triggers and views"
    if report.code_dropped:
        yield f"dropped {len(report.code_dropped)} functions, triggers and views"
    yield from (f"warning: {text}" for text in report.warnings)
    yield from (f"note: {text}" for text in report.notes)
    at = report.version or "base"
    yield (
        f"the schema is now at {at}"
        if report.changed
        else f"the schema is up to date at {at}; nothing was changed"
    )


def _echo_all(lines: Iterator[str]) -> None:
    for line in lines:
        typer.echo(line)
