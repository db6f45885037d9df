"""`reaper reconcile`, `reaper scrub` and `reaper orphans`: buckets against rows, bytes against hashes."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.markup import escape

from reaper.cli import formatting, options
from reaper.cli.database_connection import asking
from reaper.cli.tables import Column, show_table
from reaper.config.units import format_size
from reaper.errors import BadArgument, Exit, ReaperError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reaper.app import App
    from reaper.queries.integrity import UntrackedSummary

_Backend = Annotated[
    str | None, typer.Option("--backend", metavar="NAME", help="Only this one.", show_default="all")
]
_OneBackend = Annotated[str, typer.Option("--backend", metavar="NAME", help="The backend.")]
_Plan = Annotated[bool, typer.Option("--plan", help="Only compare; record and change nothing.")]
_Hash = Annotated[str, typer.Argument(metavar="HASH", help="The content.", show_default=False)]
_OlderThan = Annotated[
    str,
    typer.Option(
        "--older-than", metavar="AGE", help="Seen for at least this long: 7 d, 36 h; a day or more."
    ),
]
_Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
_Action = Annotated[str, typer.Argument(metavar="ACTION", help="report, import or delete.")]
_Reason = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why; kept in reaper.audit.")]
A_WEEK = "7 d"
_LATER = "; the service cleanup_queue queues them when those have ended"

_HELP = """
Objects that no row names.

The reconciler writes them down when it compares a bucket with the database (`reaper reconcile`). Nothing \
happens to them unless it is set, or deleted here:

    reaper orphans list

    reaper orphans delete --backend default --older-than 7d
"""


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command("reconcile")(reconcile)
    app.command("scrub")(scrub)
    group = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
    group.command("list")(list_orphans)
    group.command("delete")(delete)
    group.command("set")(set_untracked)
    app.add_typer(group, name="orphans", help=_HELP, short_help="List and delete objects that no row names.")


def reconcile(
    backend: _Backend = None,
    plan: _Plan = False,
    as_json: options.Json = False,
    database_url: options.Dsn = None,
) -> None:
    """Compare each bucket with the database, to the end of a pass, also while the service is off.

    Missing objects are recorded, objects that no row names are written down; what was written down a day ago
    is treated as `reaper orphans set` says. With --plan nothing is recorded. A pass that was interrupted goes
    on where it was. Exit code 1 when something is missing or unknown, or the service is paused.
    """
    with _opened(database_url) as app:
        _require_backend(app, backend)
        figures = _compare(app, backend) if plan else _reconcile(app, backend)
    if as_json:
        formatting.print_json(dict(figures))
    else:
        typer.echo(f"reconciler: {formatting.figures(figures)}")
    raise typer.Exit(Exit.BEHIND if figures["missing"] or figures["unknown"] else Exit.OK)


def _opened(database_url: str | None) -> App:
    from reaper import config
    from reaper.app import App
    from reaper.worker.heartbeat import worker_name

    worker = worker_name()
    options.set_up_logging(verbose=False, log_json=False, worker=worker)
    return App(config.load_all("database_url", "backends", database_url=database_url), worker=worker)


def _require_backend(app: App, backend: str | None) -> None:
    if backend is not None and backend not in app.stores:
        raise BadArgument(
            f"there is no backend {backend} here", f"Configured are: {', '.join(sorted(app.stores))}."
        )


def _reconcile(app: App, backend: str | None) -> Counter[str]:
    """A pass over each of these backends in turn; one that fails keeps no other from being compared."""
    from reaper.ops.service_phase import require_runnable
    from reaper.services import reconciler

    app.check()
    options.stop_on_signals(app.stop)
    with app.asking("operator") as q:
        require_runnable(q, reconciler.SERVICE.name)
    figures: Counter[str] = Counter(dict.fromkeys(reconciler.FIGURES, 0))
    failures: list[ReaperError] = []
    with app.heartbeat():
        for name in [backend] if backend else sorted(app.stores):
            try:
                _walk(app, name, figures)
            except ReaperError as error:
                failures.append(error)
    if failures:
        raise failures[0]
    return figures


def _walk(app: App, backend: str, figures: Counter[str]) -> None:
    """Run after run, with the lock and the record of the service, until the pass is over."""
    from reaper.services import reconciler

    service = replace(reconciler.SERVICE, tick=partial(reconciler.reconcile, backends=[backend]))
    runner = replace(app.runner_by_hand(), services={service.name: service})
    while not app.stop.is_set():
        outcome = runner.run(runner.find(service.name), wait=True)
        figures.update(outcome.tick.figures if outcome.tick else {})
        if outcome.tick is None or not outcome.tick.more:
            return


def _compare(app: App, backend: str | None) -> Counter[str]:
    from reaper.services import reconciler

    app.check(register=False)
    options.stop_on_signals(app.stop)
    figures: Counter[str] = Counter(dict.fromkeys(reconciler.FIGURES, 0))
    with app.open_session("plan:0") as session:
        context = app.context(session.call, app.stop, 0.0, _no_drain)
        for name in [backend] if backend else sorted(app.stores):
            figures.update(reconciler.compare(context, name).figures)
    return figures


def scrub(content_hash: _Hash, as_json: options.Json = False, database_url: options.Dsn = None) -> None:
    """Read all copies of a content now, compare them with its hash, and record what they are.

    A bad copy is read twice. One that is missing is recorded when it is missing in a second look, 15 minutes
    later. Where settings.content_digest is unknown, only sizes and the store's checksums can be compared, and
    the detail says so. Exit code 1 when a copy is not good.
    """
    from reaper.ops.integrity import scrub_content

    with _opened(database_url) as app, app.asking("scrub:0") as q:
        app.check(register=False)
        found = scrub_content(q, app.stores, content_hash)
    if as_json:
        formatting.print_json(found)
    else:
        columns = (Column("backend"), Column("copy"), Column("recorded"), Column("detail", wraps=True))
        show_table(
            columns,
            [
                (copy.backend, _coloured(copy.outcome), copy.recorded, escape(copy.detail or copy.object_key))
                for copy in found
            ],
        )
    raise typer.Exit(Exit.OK if all(copy.outcome == "good" for copy in found) else Exit.BEHIND)


def list_orphans(
    older_than: _OlderThan = A_WEEK, as_json: options.Json = False, database_url: options.Dsn = None
) -> None:
    """Count the objects that no row names, by the shape of their keys, as the last pass has seen them."""
    show_orphans(options.duration(older_than, "--older-than"), as_json, database_url)


def show_orphans(older_than: timedelta, as_json: bool, database_url: str | None) -> None:
    """The same, for `reaper verify --plan-orphans`; exit code 1 when there are some."""
    with asking("operator", database_url) as q:
        found = q.untracked_summary(older_than)
    if as_json:
        formatting.print_json(found)
    elif not found:
        typer.echo("no untracked objects; reaper reconcile looks for them")
    else:
        _show(found)
    raise typer.Exit(Exit.BEHIND if found else Exit.OK)


def delete(
    backend: _OneBackend,
    older_than: _OlderThan = A_WEEK,
    yes: _Yes = False,
    database_url: options.Dsn = None,
) -> None:
    """Delete the objects of a backend that no row names and that were seen for so long.

    They are counted first. Their names are retired, open transactions that may name them are waited for, and
    what is still unknown then is queued; the service cleanup_queue deletes it, below our prefix only.
    """
    import threading

    from reaper.ops.integrity import delete_untracked

    age = options.duration(older_than, "--older-than")
    if age < timedelta(days=1):
        raise typer.BadParameter(
            "--older-than: give a day or more, a writer may be about to name what it stored"
        )
    stop = threading.Event()
    options.stop_on_signals(stop)
    with asking("operator", database_url) as q:
        found = [each for each in q.untracked_summary(age) if each.backend == backend and each.old_objects]
        if not found:
            known = [each.name for each in q.backends()]
            if backend not in known:
                raise BadArgument(f"there is no backend {backend}", f"Known backends: {', '.join(known)}.")
            typer.echo(
                f"nothing to delete: no untracked object of backend {backend} was seen for {older_than}"
            )
            return
        _show(found)
        objects, size = sum(each.old_objects for each in found), sum(each.old_bytes for each in found)
        if not _agreed(f"Delete {objects:,} objects, {format_size(int(size))}?", yes):
            typer.echo("nothing was deleted")
            return
        done = delete_untracked(q, backend, age, stop)
    typer.echo(
        f"{formatting.count(done['queued'], 'object')} queued for deletion, {done['in_use']:,} in use by now,"
        f" {done['waiting']:,} wait for open transactions{_LATER if done['waiting'] else ''}"
    )
    if stop.is_set():
        raise typer.Exit(Exit.INTERRUPTED)


def set_untracked(
    action: _Action, backend: _OneBackend, reason: _Reason = None, database_url: options.Dsn = None
) -> None:
    """Set what the reconciler does with objects that no row names, seen again after a day."""
    with asking("operator", database_url) as q:
        q.set_untracked(backend, action, reason)
    typer.echo(f"untracked objects of backend {backend}: {action}")


def _show(found: Sequence[UntrackedSummary]) -> None:
    columns = (
        *(Column("backend"), Column("keys"), Column("objects"), Column("bytes")),
        *(Column("old enough"), Column("example", wraps=True)),
    )
    show_table(
        columns,
        [
            (
                *(each.backend, each.shape, f"{each.objects:,}", format_size(int(each.bytes))),
                *(f"{each.old_objects:,}", escape(each.example)),
            )
            for each in found
        ],
    )


def _agreed(question: str, yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        raise typer.BadParameter("stdin is no terminal to confirm on: add --yes")
    return typer.confirm(question)


def _coloured(outcome: str) -> str:
    return f"[green]{outcome}[/]" if outcome == "good" else f"[red]{outcome}[/]"


def _no_drain() -> NoReturn:
    raise AssertionError("a comparison drains nothing")
