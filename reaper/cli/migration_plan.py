"""A plan of `reaper migrate` as a person reads it: the tables first, then each step and what it locks."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

import typer
from rich.markup import escape

from reaper.cli.tables import Column, console, show_table

if TYPE_CHECKING:
    from reaper.migrate import Plan
    from reaper.migrate.step import Step

# Below this width two columns would be two ribbons.
_WIDE = 110
# So many files of code are named one by one; more are counted by folder.
_FEW = 8
_INDENT = "    "


def show_plan(plan: Plan) -> None:
    """Print it: as a table where there is room, else as lines that fit; in a pipe one whole line per fact."""
    out = console()
    width = out.width if out.is_terminal else None
    _echo(_table_lines(plan), width)
    if width and width >= _WIDE and not plan.empty:
        columns = (Column("what it does", wraps=True), Column("locks", wraps=True))
        show_table(columns, [_row(step) for step in _shown(plan)])
    else:
        _echo((line for step in _shown(plan) for line in _step_lines(step)), width)
    _echo(_other_lines(plan), width)


def _table_lines(plan: Plan) -> Iterator[str]:
    for note in plan.tables:
        yield note.table
        yield from (f"{_INDENT}{fact}" for fact in note.facts)
    if plan.tables and not plan.empty:
        yield ""


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
    return escape("\n".join((step.title, *(f"  {line}" for line in _code_lines(step))))), locks


def _step_lines(step: Step) -> Iterator[str]:
    yield step.title
    yield f"{_INDENT}locks: {step.locks}" + ("" if step.transactional else " (outside a transaction)")
    yield from (f"{_INDENT}{line}" for line in _code_lines(step))


def _code_lines(step: Step) -> Iterator[str]:
    from reaper.migrate.step import Kind

    if step.kind is Kind.LOAD_CODE:
        yield from _files("load", step.names)
    yield from _files("drop", step.dropped)


def _files(verb: str, paths: tuple[str, ...]) -> Iterator[str]:
    """One line per file, or where there are many, one per kind with a count of each folder."""
    if len(paths) <= _FEW:
        yield from (f"{verb} {path}" for path in paths)
        return
    folders = Counter(path.rpartition("/")[0] for path in paths)
    for kind, group in groupby(sorted(folders), key=lambda folder: folder.split("/")[0]):
        yield f"{verb} {kind}: {', '.join(_counted(folder, folders[folder]) for folder in group)}"


def _counted(folder: str, count: int) -> str:
    area = folder.partition("/")[2]
    return f"{area}={count}" if area else str(count)


def _other_lines(plan: Plan) -> Iterator[str]:
    yield from (f"warning: {text}" for text in plan.all_warnings)
    if plan.empty:
        yield "the schema is up to date; nothing to do"


def _echo(lines: Iterable[str], width: int | None) -> None:
    for line in lines:
        typer.echo(_fitted(line, width) if width else line)


def _fitted(line: str, width: int) -> str:
    """Broken between words, the rest indented deeper. Lines of SQL in a hint stay as they are."""
    if "\n" in line:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        line,
        width,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
