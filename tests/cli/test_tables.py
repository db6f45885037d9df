"""Tables fit the terminal of a person, and lose nothing in a pipe."""

import re
import subprocess
import sys

import pytest

from tests.support import terminal

PROGRAM = """
from reaper.cli.tables import Column, show_fields, show_table
columns = [Column("name"), Column("bytes", number=True), Column("about", wraps=True),
           Column("extra", only_if_wide=True)]
show_table(columns, [
    ("[bold]a_service_with_a_long_name[/]", "7", "the quick brown fox " * 4 + "\\n[red]it failed[/]", "rare"),
    ("b", "1,234", "z" * 100, "rare"),
    ("c", "", "\\\\[not markup]", "rare"),
])
show_fields([("label", "[green]the quick brown fox[/] " * 5), ("", "more")])
"""


def in_a_pipe() -> list[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    ).stdout.splitlines()


def at_a_terminal(width: int) -> list[str]:
    """What a person sees, without the colours."""
    text = terminal.shown([sys.executable, "-c", PROGRAM], width)
    return [line.rstrip() for line in re.sub(r"\x1b\[[\d;]*m", "", text).splitlines()]


def test_in_a_pipe_every_row_is_one_whole_line_below_its_titles() -> None:
    title, first, second, third, *fields = in_a_pipe()
    assert title.split() == ["name", "bytes", "about", "extra"]
    about = title.index("about")
    assert first.startswith(f"a_service_with_a_long_name      7  {'the quick brown fox ' * 4}  it failed ")
    assert second == f"{'b':<26}  1,234  {'z' * 100}  rare"
    assert third[about:].startswith("[not markup] ")
    assert third.endswith("  rare")
    assert {len(line) - len("rare") for line in (first, second, third)} == {title.index("extra")}
    assert fields == ["label       " + ("the quick brown fox " * 5).rstrip(), "            more"]


@pytest.mark.parametrize("width", [60, 80, 140])
def test_at_a_terminal_nothing_is_wider_than_it_and_no_column_runs_into_the_next(width: int) -> None:
    lines = at_a_terminal(width)
    assert max(map(len, lines)) <= width
    assert lines[1].startswith("a_service_with_a_long_name      7  the quick")
    assert any(line.strip().startswith("it failed") for line in lines)
    assert sum(line.count("z") for line in lines) == 100
    assert lines[-1] == "            more"


def test_a_narrow_terminal_goes_without_what_is_nice_to_know() -> None:
    assert "rare" not in "".join(at_a_terminal(80))
    assert "rare" in "".join(at_a_terminal(140))
