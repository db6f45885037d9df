"""What a migration means for each table of the application, in plain words, read from its steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from reaper.config.tables import COLUMNS
from reaper.migrate.binding import Binding, BoundTable
from reaper.migrate.binding_plan import BindingPlan
from reaper.migrate.step import Kind, Step

_UNTIL = "the scheduled drain deletes nothing from it before: reaper service enable drain"


@dataclass(frozen=True)
class Addition:
    """What a table of the application gets: things of one kind, by name."""

    table: str
    kind: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        plural = {"index": "indexes"}.get(self.kind, f"{self.kind}s")
        return f"the {self.kind if len(self.names) == 1 else plural} {', '.join(self.names)}"


@dataclass(frozen=True)
class TableNote:
    """One of the two tables: what reaper calls it, its name, and what will happen to it."""

    name: str
    table: str
    facts: tuple[str, ...]
    additions: tuple[Addition, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """The note for machines."""
        return asdict(self)


def notes(
    before: Binding | None, tables: BindingPlan, steps: Sequence[Step], goes_back: bool, to_base: bool
) -> Iterator[TableNote]:
    """Pastes first; nothing where no table is bound and none will be."""
    for name in COLUMNS:
        former: BoundTable | None = getattr(before, name) if before else None
        wanted: BoundTable | None = getattr(tables.adopts, name) if tables.adopts else None
        if goes_back and former:
            fact = (
                _released(former, steps)
                if to_base
                else f"stays bound as {name}: rows and columns are not changed"
            )
            yield TableNote(name, former.table, (fact,))
        elif wanted:
            additions = tuple(_additions(wanted, steps))
            yield TableNote(name, wanted.table, tuple(_bound(former, wanted, additions)), additions)
        elif tables.views:
            fact = f"created, empty, as {name}: no table of yours is bound"
            yield TableNote(name, f"public.{name}", (fact,))


def _released(former: BoundTable, steps: Iterable[Step]) -> str:
    released = any(step.kind is Kind.RELEASE_TABLE and former.table in step.names for step in steps)
    if released:
        return "yours, with all rows: stays; only what reaper added to it is dropped"
    return "created by reaper, empty: dropped"


def _bound(former: BoundTable | None, wanted: BoundTable, additions: Sequence[Addition]) -> Iterator[str]:
    if former is None:
        yield f"your table, bound as {wanted.name}: rows and columns stay as they are"
    elif former.table != wanted.table:
        yield f"bound as {wanted.name} instead of {former.table}, whose rows and columns stay"
    elif former != wanted:
        yield f"bound as {wanted.name} with other columns"
    else:
        yield f"bound as {wanted.name}"
    yield from [f"gets {addition}" for addition in additions] or ("has all that reaper needs",)
    if former is None and wanted.name == "pastes":
        yield _UNTIL


def _additions(wanted: BoundTable, steps: Iterable[Step]) -> Iterator[Addition]:
    kinds = (Kind.PREPARE_TABLE, Kind.CREATE_VIEWS)
    texts = [statement.text for step in steps if step.kind in kinds for statement in step.statements]
    alter = f"alter table {wanted.table} add"
    for kind, names in (
        ("column", _after(texts, f"{alter} column if not exists ")),
        ("constraint", _after(texts, f"{alter} constraint ")),
        ("index", _indexes(wanted, texts)),
        ("trigger", _after(texts, "comment on trigger ", f" on {wanted.table} is ")),
    ):
        if names:
            yield Addition(wanted.table, kind, tuple(names))


def _after(texts: Iterable[str], prefix: str, part: str = "") -> list[str]:
    return [_bare(text.removeprefix(prefix)) for text in texts if text.startswith(prefix) and part in text]


def _indexes(wanted: BoundTable, texts: Iterable[str]) -> list[str]:
    return [
        _bare(text.partition(" if not exists ")[2])
        for text in texts
        if text.startswith("create ") and f" on {wanted.table} (" in text
    ]


def _bare(text: str) -> str:
    """The quoted name at the beginning, without its quotes."""
    return text[1:].partition('"')[0] if text.startswith('"') else text.partition(" ")[0]
