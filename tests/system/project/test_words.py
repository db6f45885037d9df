"""What people read is about what is there, in plain words."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import reaper
from reaper import services

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", ROOT / "model/README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = sorted((ROOT / "reaper").rglob("*.py"))
NAMED_PATH = re.compile(r"(?<![\w./<-])(?:reaper|tests|sql|model)/[\w./-]*(?![\w<])")
NAMED_FUNCTION = re.compile(r"(?<![\w.])reaper\.(\w+)\(")
# Riddles: they do not say who, or what. A reader searches for nouns.
FORBIDDEN = re.compile(
    r"\b(some|any|no|every)body\b|\bwhoever\b|\bleft alone\b|\bleaves? \w+ alone\b|\bgo(es|ing)? on\b"
    r"|\bdead letters?\b|\bdesk\b|\bat it\b|\bnever comes\b",
    re.IGNORECASE,
)
# The name of a user of the operating system.
ALLOWED = ("PostgreSQL refuses to run as root, and there is no user `nobody` to run it as", "nobody")


def is_cut_short(text: str, end: int) -> bool:
    """Whether a placeholder follows, as in sql/functions/<area>/."""
    return text[end : end + 1] == "<"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text()
    found = [m[0].rstrip(".") for m in NAMED_PATH.finditer(text) if not is_cut_short(text, m.end())]
    assert [path for path in found if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_function_that_a_page_names_is_one_that_people_may_call(page: Path) -> None:
    callable_names = {path.stem for path in (ROOT / "sql/functions").rglob("*.sql")} | set(reaper.__all__)
    assert set(NAMED_FUNCTION.findall(page.read_text())) - callable_names == set()


def test_the_schedule_of_the_operations_page_names_every_service() -> None:
    told = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/operations.md").read_text(), re.MULTILINE))
    assert {service.name for service in services.ALL} <= told


def test_pages_name_paths_and_functions_at_all() -> None:
    text = "".join(page.read_text() for page in PAGES)
    assert len(NAMED_PATH.findall(text)) > 30
    assert len(NAMED_FUNCTION.findall(text)) > 30


def docstrings(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            match node.body:
                case [ast.Expr(value=ast.Constant(value=str()) as text), *_]:
                    yield text


def messages(path: Path) -> Iterator[str]:
    """The texts of a module that may reach a person; in cli/ that includes the docstrings of commands."""
    tree = ast.parse(path.read_text())
    hidden = {id(text) for text in docstrings(tree)}
    if path.parent.name == "cli":
        yield from (ast.get_docstring(n) or "" for n in tree.body if isinstance(n, ast.FunctionDef))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in hidden:
            yield node.value


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_log_events_errors_and_help_have_no_riddles(path: Path) -> None:
    assert [text for text in messages(path) if FORBIDDEN.search(text) and text not in ALLOWED] == []


@pytest.mark.parametrize(
    "riddle", ["Nobody has it.", "going on", "backend x is left alone", "leaves it alone", "'@x' never comes"]
)
def test_a_riddle_is_noticed(riddle: str) -> None:
    assert FORBIDDEN.search(riddle)


def test_a_help_text_counts_as_a_message(tmp_path: Path) -> None:
    (tmp_path / "cli").mkdir()
    module = tmp_path / "cli" / "command.py"
    module.write_text('"""Hidden."""\n\ndef run():\n    """Shown."""\n    print("said")\n')
    assert list(messages(module)) == ["Shown.", "said"]
