"""A plan as one SQL script, for a DBA to review and, if wanted, to run by psql."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reaper.migrate.connection import APPLICATION_NAME
from reaper.migrate.plan import Plan
from reaper.migrate.step import Statement, Step

HERE = "-- What `reaper migrate` would run on this database, in this order. Nothing has been applied.\n"
FRESH = """\
-- What `reaper migrate` would run on a new, empty database, in this order. REAPER_DATABASE_URL is not set, so
-- no database was looked at: with it this is the script for that database. Run it as a superuser; another
-- role lacks a GRANT that `reaper migrate` would add.
"""
_HEAD = f"""\
-- To run it by hand: psql -X -f this.sql, on a direct connection. `reaper migrate` also tries a step again
-- that could not get its locks, and holds an advisory lock against a second migrator.
\\set ON_ERROR_STOP on
set application_name = '{APPLICATION_NAME}';
"""


def render(plan: Plan, about: str = HERE) -> str:
    """The script; it ends in the same state, ledger included, as the migration itself."""
    if plan.empty:
        return "-- The schema is up to date: nothing would be run.\n"
    return "\n".join([about + _HEAD + _lines(Statement(text) for text in plan.session), *_parts(plan)])


def _parts(plan: Plan) -> Iterator[str]:
    yield from (f"-- {note.table}: {'; '.join(note.facts)}" for note in plan.tables)
    yield from (f"-- warning: {text}" for text in plan.warnings)
    for step in plan.steps:
        yield "\n".join(_step(step))


def _step(step: Step) -> Iterator[str]:
    yield f"-- {step.title}"
    yield f"-- locks: {step.locks}"
    if step.skip_if:
        yield f"select ({step.skip_if}) as needless \\gset"
    yield from _transaction(step) if step.transactional else _one_by_one(step)


def _transaction(step: Step) -> Iterator[str]:
    yield "begin;"
    yield _lines(step.settings) + _work(step) + _lines(step.record) + "commit;\n"


def _one_by_one(step: Step) -> Iterator[str]:
    yield "-- outside a transaction"
    yield _lines(step.settings) + _work(step)
    if step.record:
        yield "begin;\n" + _lines(step.record) + "commit;\n"


def _work(step: Step) -> str:
    """Psql's own condition: what stands outside a transaction cannot be wrapped in a block."""
    work = _lines(step.statements)
    return f"\\if :needless\n\\else\n{work}\\endif\n" if step.skip_if else work


def _lines(all_: Iterable[Statement]) -> str:
    return "".join(f"{_line(statement)}\n" for statement in all_ if statement.text.strip())


def _line(statement: Statement) -> str:
    text = statement.text.strip()
    origin = f"-- sql/{statement.file}\n" if statement.file else ""
    return origin + text + ("" if text.endswith(";") else ";")
