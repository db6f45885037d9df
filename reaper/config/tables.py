"""Which tables of the application reaper works on, from `reaper.toml` or from `--bind`.

    [tables.pastes]
    table = "app.documents"
    short_code = "id"

    [tables.content]
    table = "app.blobs"
    object_key = "'objects/' || sha"    # a column, or an expression over the row

What is not named here has the name that reaper uses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from reaper.config.toml_file import read_toml
from reaper.config.variables import did_you_mean
from reaper.errors import ConfigError

# Names that reaper uses, in the order of its views.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "pastes": (
        *("short_code", "content_hash", "created_at", "expires_at"),
        *("deletion_status", "deletion_initiated_at"),
    ),
    "content": ("content_hash", "object_key", "ref_count", "size_bytes", "created_at"),
}
TABLE = "table"
KEY = "object_key"
_COLUMN = re.compile(r'[^\W\d]\w*|"(?:[^"]|"")+"')

# For each of the two tables: its name and its columns, as far as they are told.
Names = Mapping[str, Mapping[str, str]]


def read_tables(path: Path | None) -> Names:
    """The names that a file tells; ConfigError with all that is wrong in it."""
    tables = read_toml(path).get("tables", {}) if path else {}
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise ConfigError(f"{path}: tables must be [tables.pastes] and [tables.content]")
    pairs = [(f"{name}.{key}", value) for name, table in tables.items() for key, value in table.items()]
    return _names(pairs, f"{path}: tables.")


def read_options(words: Iterable[str]) -> Names:
    """The names that options tell: `pastes=app.documents`, `pastes.short_code=id`."""
    pairs = []
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise ConfigError(
                f"--bind {word}: there is no =",
                "Write for example --bind pastes=app.documents --bind pastes.short_code=id",
            )
        pairs.append((key if "." in key else f"{key}.{TABLE}", value))
    return _names(pairs, "--bind ")


def is_column(text: str) -> bool:
    """Whether a name of one column is meant; everything else is an expression."""
    return _COLUMN.fullmatch(text.strip()) is not None


def column_name(text: str) -> str:
    """The name as the catalogue has it; quotes may stand around it as in SQL."""
    name = text.strip()
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _names(pairs: Iterable[tuple[str, Any]], where: str) -> Names:
    names: dict[str, dict[str, str]] = {}
    problems = []
    for key, value in pairs:
        table, _, column = key.partition(".")
        if problem := _problem(table, column, value):
            problems.append(f"{where}{key} {problem}")
        else:
            names.setdefault(table, {})[column] = value.strip()
    if problems:
        raise ConfigError("; ".join(problems))
    return names


def _problem(table: str, column: str, value: Any) -> str | None:
    if table not in COLUMNS:
        return "is not known; the tables are pastes and content"
    known = (TABLE, *COLUMNS[table])
    if column not in known:
        meant = did_you_mean(column, known, close=0.6)
        return "is not known; " + (f"did you mean {meant}?" if meant else f"known names: {', '.join(known)}")
    if not isinstance(value, str) or not value.strip():
        return "must be a text that is not empty"
    if column not in (TABLE, KEY) and not is_column(value):
        return (
            f"must be the name of a column, in double quotes if it has spaces; only content.{KEY} may be an"
            " expression"
        )
    return None
