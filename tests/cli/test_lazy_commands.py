"""`reaper --version`, help and completion load no driver; the list of commands says what its modules say."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reaper.cli.commands import COMMANDS, import_command
from tests.cli.conftest import Run

ROOT = Path(__file__).parents[2]
HEAVY = {
    "boto3",
    "botocore",
    "croniter",
    "procrastinate",
    "psycopg",
    "pydantic",
    "redis",
    "structlog",
    "yoyo",
}
# typer reads words with it when it completes one.
OF_TYPER = {"pydantic"}
PROGRAM = """
import json, sys
from reaper.cli import main
try:
    main()
except SystemExit as ended:
    code = ended.code or 0
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""


def loaded(*words: str, **variables: str) -> tuple[str, set[str]]:
    """What a command printed, and the modules that it has loaded, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", **variables}
    command = [sys.executable, "-c", PROGRAM, *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    code, modules = json.loads(done.stderr.splitlines()[-1])
    assert code == 0, done.stderr
    return done.stdout, set(modules)


def completed(words: str) -> tuple[str, set[str]]:
    """As bash asks for what may follow."""
    count = str(len(words.split()) - (not words.endswith(" ")))
    return loaded(_REAPER_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=count)


def test_the_version_loads_no_driver() -> None:
    printed, modules = loaded("--version")
    assert printed.startswith("reaper 0.")
    assert modules.isdisjoint(HEAVY)
    assert modules.isdisjoint({f"reaper.cli.{command.module}" for command in COMMANDS.values()})


def test_the_help_lists_every_command_and_loads_none() -> None:
    printed, modules = loaded("--help")
    for name, command in COMMANDS.items():
        assert f" {name} " in printed
        assert command.summary[:40] in printed
    assert modules.isdisjoint(HEAVY)


@pytest.mark.parametrize(
    ("words", "offered"),
    [("reaper st", "status"), ("reaper ", "bench"), ("reaper service re", "reschedule")],
)
def test_completion_of_a_command_loads_no_driver(words: str, offered: str) -> None:
    printed, modules = completed(words)
    assert offered in printed.split()
    assert modules.isdisjoint(HEAVY - OF_TYPER)


@pytest.mark.slow(but=4)
@pytest.mark.parametrize("name", COMMANDS)
def test_completion_of_its_options_loads_no_driver(name: str) -> None:
    printed, modules = completed(f"reaper {name} --")
    assert "--help" in printed.split()
    assert modules.isdisjoint(HEAVY - OF_TYPER)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_command_itself_says(name: str, bare_run: Run) -> None:
    command = import_command(name)
    said = command.short_help or inspect.cleandoc(command.help).partition("\n\n")[0].replace("\n", " ")
    assert COMMANDS[name].summary == said
    assert bare_run(name, "--help").code == 0


def test_every_module_of_commands_is_in_the_list() -> None:
    modules = {
        path.stem for path in (ROOT / "reaper/cli").glob("*.py") if "\ndef register(" in path.read_text()
    }
    assert modules == {command.module for command in COMMANDS.values()}


def test_a_misspelt_command_is_answered_with_one_that_there_is(bare_run: Run) -> None:
    assert "Did you mean 'status'?" in bare_run("statsu").complaint[0]
