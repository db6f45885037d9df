"""What holds for all tests: helpers are in tests/support, and what is replaced is replaced in one place."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TESTS = sorted((ROOT / "tests").rglob("*.py"))
PATCHERS = {"setattr", "object", "delattr"}


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imported(tree: ast.AST) -> Iterator[str]:
    """The modules that a module imports, and what it imports from them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names)


def of_test_modules(names: Iterator[str]) -> list[str]:
    """Those that are test modules, or come from one."""
    return [name for name in names if any(part.startswith("test_") for part in name.split(".")[:-1])]


def patches(tree: ast.AST) -> Iterator[str]:
    """Whatever changes an object's __dict__, or an attribute of Queries."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "__dict__":
            yield f"line {node.lineno}: __dict__"
        if isinstance(node, ast.Call) and _names_queries(node):
            yield f"line {node.lineno}: {ast.unparse(node.func)} of Queries"
        if isinstance(node, ast.Assign) and any(_is_of_queries(each) for each in ast.walk(node)):
            yield f"line {node.lineno}: an attribute of Queries is assigned"


def _names_queries(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return (
        name in PATCHERS
        and bool(call.args)
        and re.search(r"\b(Queries|App|Runner)\b", ast.unparse(call.args[0])) is not None
    )


def _is_of_queries(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "Queries"
    )


def test_no_test_module_is_imported() -> None:
    found = {name(path): of_test_modules(imported(ast.parse(path.read_text()))) for path in TESTS}
    assert {path: modules for path, modules in found.items() if modules} == {}


def test_nothing_is_patched_past_a_constructor() -> None:
    found = {name(path): list(patches(ast.parse(path.read_text()))) for path in TESTS}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "statement",
    [
        "import tests.services.test_workers.started",
        "from tests.services.test_workers import started",
        "from .test_mutations import LOCK",
    ],
)
def test_an_import_of_a_test_module_is_noticed(statement: str) -> None:
    assert len(of_test_modules(imported(ast.parse(statement)))) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "app.__dict__['stores'] = {}",
        "app.__dict__.update(cache=None)",
        "setattr(Queries, 'now', None)",
        "monkeypatch.setattr(Queries, 'begin_put', begin)",
        "monkeypatch.setattr('reaper.queries.Queries.now', begin)",
        "patch.object(Queries, 'throttle', None)",
        "Queries.begin_put, Queries.commit_put = begun, committed",
    ],
)
def test_a_patch_is_noticed(statement: str) -> None:
    assert list(patches(ast.parse(statement))) != []


def test_helpers_are_in_support_or_are_what_a_suite_is_about() -> None:
    data = {"mutants", "detectors"}
    elsewhere = [
        name(path)
        for path in TESTS
        if not path.name.startswith("test_")
        and path.name != "conftest.py"
        and path.relative_to(ROOT).parts[1] != "support"
        and path.parent.name not in data
    ]
    assert elsewhere == []
