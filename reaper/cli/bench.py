"""`reaper bench`: how fast it is, beside what one would do otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from reaper.errors import ConfigError, Exit

if TYPE_CHECKING:
    from reaper.dev.bench.plan import Plan

_Rows = Annotated[
    int | None,
    typer.Option(
        "--rows",
        metavar="N",
        min=2000,
        help="Rows in the two main tables; half are due.",
        show_default="200000",
    ),
]
_Quick = Annotated[bool, typer.Option("--quick", help="About a minute and a half.")]
_Big = Annotated[
    bool, typer.Option("--big", help="Up to ten million rows: two hours or more, 20 GB of disk.")
]
_Copies = Annotated[
    bool,
    typer.Option("--copies", help="Measure the replicator beside rclone copy instead; with --quick, small."),
]
_Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="DIR", help="Where results.json and the plots go.")
]
_Page = Annotated[
    Path | None,
    typer.Option(
        "--page",
        metavar="FILE",
        exists=True,
        help="A Markdown page that gets the figures, such as docs/performance.md.",
        show_default=False,
    ),
]
_PgBin = Annotated[
    Path | None,
    typer.Option(
        "--pg-bin",
        metavar="DIR",
        exists=True,
        file_okay=False,
        resolve_path=True,
        help="The programs of the PostgreSQL to run on, 15 to 18, such as /usr/lib/postgresql/15/bin;"
        " goes before REAPER_PG_BIN.",
        show_default=False,
    ),
]
_Scrub = Annotated[
    bool, typer.Option("--scrub", help="Only: the scrubber beside rclone check --download of small objects.")
]
_Objects = Annotated[int, typer.Option("--objects", metavar="N", min=1, help="With --scrub: how many.")]
_Profile = Annotated[
    bool, typer.Option("--profile", help="Only show where the time of a drain goes, per statement: a minute.")
]
_Webhooks = Annotated[
    bool,
    typer.Option("--webhooks", help="Only: what a webhook that is told of everything costs a drain."),
]
_Growth = Annotated[
    int | None,
    typer.Option(
        "--growth",
        metavar="N",
        min=2000,
        help="Only measure growth, with N due rows in the large tables; one round.",
        show_default=False,
    ),
]
_Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Shuffles the order of the methods.")]


# Tables that go into a file are read without wrapping.
WIDTH = 140
# What a copy may cost more among ten times as many contents.
LARGEST_GROWTH = 1.15
# How fast a drain must be with a webhook for everything, beside one without.
SLOWEST_WITH_WEBHOOK = 0.9


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("bench")(bench)


def bench(
    quick: _Quick = False,
    big: _Big = False,
    rows: _Rows = None,
    seed: _Seed = 1,
    output: _Output = Path(".reaper/bench"),
    page: _Page = None,
    pg_bin: _PgBin = None,
    scrub: _Scrub = False,
    objects: _Objects = 10_000,
    copies: _Copies = False,
    profile: _Profile = False,
    growth: _Growth = None,
    webhooks: _Webhooks = False,
) -> None:
    """Measure reaper beside row-by-row deletion, hand-written workers, job queues and one giant transaction.

    Runs on PostgreSQL, Valkey and S3 servers of its own, which are gone afterwards: twenty minutes on two
    cores. Each method gets a fresh copy of the same data, in shuffled order, thrice at least, and
    is checked for what it left behind. Exit code 1 when one left something that it had promised to delete.
    """
    if scrub:
        _bench_scrub(objects)
        return
    try:
        from reaper.dev.bench import plan
        from reaper.dev.bench.benchmark import measure
        from reaper.dev.bench.output import publish
        from reaper.dev.embedded import EmbeddedError
    except ImportError as error:
        raise ConfigError(
            f"the benchmark needs {error.name}",
            "It comes with the extra bench; in a checkout: pip install '.[bench]'",
        ) from None
    if quick and big:
        raise typer.BadParameter("choose one of --quick and --big")
    if copies:
        _measure_copies(quick, output, pg_bin)
        return
    if webhooks:
        _bench_webhooks(rows or plan.DEFAULT_ROWS, seed, pg_bin)
        return
    chosen = plan.choose(quick, big, rows, seed)
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    if profile or growth:
        for table in _part(profile, growth, rows or plan.DEFAULT_ROWS, seed, pg_bin):
            console.print(table, soft_wrap=True)
        return
    try:
        with _progress(chosen) as announce:
            results = measure(chosen, announce, pg_bin)
    except EmbeddedError as error:
        raise ConfigError(str(error)) from None
    publish(results, console, output, page)
    raise typer.Exit(int(Exit.BEHIND if results.problems else Exit.OK))


def _bench_scrub(objects: int) -> None:
    from reaper.dev.bench import scrub_speed

    console = Console(stderr=True, highlight=False)
    speed = scrub_speed.measure(objects, 2048, 3, lambda what: console.print(what, soft_wrap=True))
    typer.echo(speed.as_json())
    typer.echo(f"scrubber / rclone check --download: {speed.ratio:.2f} times as fast")


def _bench_webhooks(rows: int, seed: int, pg_bin: Path | None) -> None:
    """Exit code 1 when the target is missed."""
    from reaper.dev.bench.benchmark import measure_webhooks
    from reaper.dev.embedded import EmbeddedError

    console = Console(stderr=True, highlight=False)
    try:
        cost = measure_webhooks(rows, seed, lambda what: console.print(what, soft_wrap=True), pg_bin)
    except EmbeddedError as error:
        raise ConfigError(str(error)) from None
    typer.echo(cost.as_json())
    for problem in cost.problems:
        typer.echo(problem, err=True)
    look, ratio = (cost.look, cost.look_by_cpu), (cost.ratio, cost.ratio_by_cpu)
    typer.echo(
        "without a webhook / without the look for one: {:.2f} times as fast, by CPU {:.2f}".format(*look)
    )
    typer.echo("with a webhook for everything / without: {:.2f} times as fast, by CPU {:.2f}".format(*ratio))
    well = not cost.problems and cost.ratio >= SLOWEST_WITH_WEBHOOK
    raise typer.Exit(Exit.OK if well else Exit.BEHIND)


def _measure_copies(quick: bool, output: Path, pg_bin: Path | None) -> None:
    """The replicator, its SQL and its sweep; exit code 1 when a target is missed."""
    from reaper.dev.bench import copies
    from reaper.dev.embedded import EmbeddedError

    err = Console(stderr=True, highlight=False)
    try:
        figures = copies.measure(
            copies.QUICK if quick else copies.Plan(), lambda what: err.print(what, soft_wrap=True), pg_bin
        )
    except EmbeddedError as error:
        raise ConfigError(str(error)) from None
    output.mkdir(parents=True, exist_ok=True)
    (output / "copies.json").write_text(json.dumps(figures.as_json(), indent=2))
    for line in figures.lines():
        typer.echo(line)
    typer.echo(f"copies.json: {output}/")
    raise typer.Exit(Exit.OK if figures.ratio >= 1 and figures.growth <= LARGEST_GROWTH else Exit.BEHIND)


def _part(profile: bool, growth: int | None, rows: int, seed: int, pg_bin: Path | None) -> Iterator[str]:
    """The tables of a part of the benchmark, as a page holds them."""
    from reaper.dev.bench import benchmark, figure_tables, statement_profile
    from reaper.dev.bench.markdown_page import as_markdown

    announce = Console(stderr=True, highlight=False).print
    if profile:
        for each in statement_profile.measure(rows, announce, pg_bin):
            yield as_markdown(each.table()) + "\n"
    if growth:
        yield as_markdown(
            figure_tables.growth_alone(benchmark.measure_growth(growth, seed, announce, pg_bin))
        )


@contextmanager
def _progress(plan: Plan) -> Iterator[Callable[[str], None]]:
    """A bar on a terminal, a line for each step elsewhere."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield lambda what: console.print(what, soft_wrap=True)
        return
    with Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
        console=console,
        transient=True,
    ) as bar:
        task = bar.add_task("starting PostgreSQL, Valkey and S3", total=plan.steps, completed=-1)
        yield lambda what: bar.update(task, advance=1, description=what)
