"""A query stands in the module that has the name of its function's folder."""

import re
from pathlib import Path

QUERIES = Path("reaper/queries")
FUNCTIONS = {path.stem: path.parent.name for path in Path("sql/functions").glob("*/*.sql")}
CALLED = re.compile(r"reaper\.(\w+)\(")
# They only supply a value to a question about something else.
BESIDE = {"clock", "released_codes", "waits_for_standby", "service_lock_key", "get_paste"}


def test_every_function_is_called_by_the_module_of_its_folder() -> None:
    called = {path.stem: set(CALLED.findall(path.read_text())) - BESIDE for path in QUERIES.glob("*.py")}
    astray = {
        f"{module}: {name}": FUNCTIONS[name]
        for module, names in called.items()
        for name in names
        if FUNCTIONS.get(name, module) != module
    }
    assert astray == {}
