"""`reaper migrate`: bring the database to the schema of this release."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from reaper.cli import options
from reaper.cli.migration_plan import show_plan

if TYPE_CHECKING:
    from reaper.migrate import Plan, Report

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
    bool,
    typer.Option(
        "--sql",
        help="Print the SQL for review, with the locks of each step; change nothing."
        " Without REAPER_DATABASE_URL: of a fresh installation.",
    ),
]
_Json = Annotated[bool, typer.Option("--json", help="Write the plan or the report as JSON.")]
_Patience = Annotated[
    str,
    typer.Option("--patience", metavar="SPAN", help="How long a step may try to get its locks: 60 s, 5 min."),
]
_Bind = Annotated[
    list[str] | None,
    typer.Option(
        "--bind",
        metavar="NAME=VALUE",
        help="Your table or column for one of reaper's: pastes=app.documents, pastes.short_code=id."
        " Goes before reaper.toml.",
    ),
]
_CreateTables = Annotated[
    bool,
    typer.Option(
        "--create-tables", help="Create public.pastes and public.content beside tables that look like them."
    ),
]


# One paragraph is one line here, because the help keeps line breaks.
_HELP = """
Bring the database to the schema of this release, while the application runs.

Binds your tables of pastes and content (reaper.toml, --bind; by default public.pastes and public.content, \
which are created where there are none), and makes the schemas reaper and procrastinate (or \
REAPER_QUEUE_SCHEMA; an installation of procrastinate there is used as it is). Running it again \
changes nothing; several at once wait for each other. \
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
    bind: _Bind = None,
    create_tables: _CreateTables = False,
) -> None:
    """Plan, print or run the migration."""
    if plan and sql:
        raise typer.BadParameter("--plan and --sql cannot be combined")
    if sql and as_json:
        raise typer.BadParameter("--sql and --json cannot be combined")
    seconds = options.duration(patience, "--patience").total_seconds()
    from reaper import config
    from reaper.config.tables import read_options
    from reaper.migrate import Request, render_sql
    from reaper.migrate import migrate as run_migration
    from reaper.migrate import plan as make_plan
    from reaper.services import ALL

    settings = config.load() if sql else config.load("database_url")
    tables = Request(settings.tables, read_options(bind or ()), create_tables, settings.queue_schema)
    if sql:
        given = None if settings.database_url is None else settings.dsn
        typer.echo(render_sql(given, to=to, tables=tables, services=ALL), nl=False)
        return
    dsn = settings.dsn
    if plan:
        _show_plan(make_plan(dsn, to=to, tables=tables, services=ALL), as_json)
    else:
        say = _progress(as_json)
        report = run_migration(dsn, to=to, tables=tables, services=ALL, patience=seconds, say=say)
        _show_report(report, as_json)


def _progress(as_json: bool) -> Callable[[str], None]:
    return lambda line: typer.echo(line, err=as_json)


def _show_plan(plan: Plan, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(plan.as_dict(), indent=2))
        return
    show_plan(plan)


def _show_report(report: Report, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(report.as_dict(), indent=2))
        return
    _echo_all(_report_lines(report))


def _report_lines(report: Report) -> Iterator[str]:
    if report.roles:
        yield f"created the roles {', '.join(report.roles)}"
    yield from (f"dropped the unfinished index {name}" for name in report.dropped_indexes)
    yield from (f"added to {addition.table}: {addition}" for addition in report.added)
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
