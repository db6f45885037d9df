"""yoyo as its own command, without any of reaper's: what it applies, lists and refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

ROOT = Path(__file__).parents[3]
PROGRAMS = Path(sys.executable).parent


@dataclass(frozen=True)
class Outcome:
    """How a command ended and what it said, errors included."""

    code: int
    text: str


def url(dsn: str, schema: str | None = None) -> str:
    """The address of a database as yoyo takes it, for psycopg 3; `schema` is where yoyo keeps its ledger."""
    parts = conninfo_to_dict(dsn)
    arguments = f"host={parts['host']}&port={parts['port']}" + (f"&schema={schema}" if schema else "")
    return f"postgresql+psycopg://{parts['user']}@/{parts['dbname']}?{arguments}"


def yoyo(dsn: str, *arguments: str, schema: str | None = None) -> Outcome:
    """One command upon the migrations of the checkout."""
    what, *others = arguments
    options = ["--batch", "--no-config-file", "--database", url(dsn, schema), *others]
    return run([str(PROGRAMS / "yoyo"), what, *options, "migrations"])


def shell(command: str, **variables: str) -> Outcome:
    """One line of a documentation page, as a person would type it."""
    return run(["bash", "-c", command], **variables)


def run(command: list[str], **variables: str) -> Outcome:
    """A command in the checkout."""
    environment = {**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}", **variables}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=400
    )
    return Outcome(done.returncode, done.stdout + done.stderr)


def statuses(listed: Outcome) -> set[str]:
    """The letters that `yoyo list` shows: A for applied, U for not."""
    assert listed.code == 0, listed.text
    rows = [line.split() for line in listed.text.splitlines()]
    return {row[0] for row in rows if len(row) > 2 and row[1][:4].isdigit()}
