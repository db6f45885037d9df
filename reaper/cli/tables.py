"""Tables: columns that fit the terminal for a person, one whole line per row for a pipe.

Cells are rich's markup; text that comes from elsewhere is to be escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

# Below this width a terminal has no room for what is nice to know.
_WIDE = 110
_LABEL = 12
_GAP = 2
_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Column:
    """How one column is shown to a person; in a pipe all are."""

    title: str = ""
    number: bool = False
    wraps: bool = False
    only_if_wide: bool = False


def console() -> Console:
    """Colours for a person, plain lines when piped; lines are never broken."""
    return Console(soft_wrap=True, highlight=False)


def show_table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
    """Print rows below the titles of their columns, if they have any. A cell may have several lines."""
    out = Console(highlight=False)
    if out.is_terminal:
        out.print(_fitting(columns, rows, out.width))
    else:
        _print_plain(columns, rows)


def show_fields(fields: Iterable[tuple[str, str]]) -> None:
    """Print lines of a label and a text; a line without label belongs to the one before."""
    out = Console(highlight=False)
    if out.is_terminal:
        table = Table.grid()
        table.add_column(width=_LABEL, no_wrap=True, style="bold")
        table.add_column(overflow="fold")
        for label, text in fields:
            table.add_row(label, text)
        out.print(table)
        return
    for label, text in fields:
        print(f"{label:<{_LABEL}}{_one_line(text)}".rstrip())


def _fitting(columns: Sequence[Column], rows: Iterable[Sequence[str]], width: int) -> Table:
    shown = [not column.only_if_wide or width >= _WIDE for column in columns]
    titled = any(column.title for column in columns)
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_header=titled, header_style="dim")
    for column in _chosen(columns, shown):
        table.add_column(
            column.title,
            justify="right" if column.number else "left",
            no_wrap=not column.wraps,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*_chosen(row, shown))
    return table


def _chosen(items: Sequence[_Item], shown: Sequence[bool]) -> Iterator[_Item]:
    return (item for item, wanted in zip(items, shown, strict=True) if wanted)


def _print_plain(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
    titles = [column.title for column in columns]
    lines = [titles] if any(titles) else []
    lines += [[_one_line(cell) for cell in row] for row in rows]
    widths = [max((cell_len(line[n]) for line in lines), default=0) for n in range(len(columns))]
    for line in lines:
        cells = [_padded(*each) for each in zip(line, widths, columns, strict=True)]
        print((" " * _GAP).join(cells).rstrip())


def _one_line(cell: str) -> str:
    return "  ".join(Text.from_markup(cell).plain.split("\n"))


def _padded(cell: str, width: int, column: Column) -> str:
    blank = " " * (width - cell_len(cell))
    return blank + cell if column.number else cell + blank
