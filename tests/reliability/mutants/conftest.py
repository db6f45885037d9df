import sys
from pathlib import Path

import pytest

# The plays assert outside of a test file; what they compared shall be seen, unless others import them first.
PLAYS = {f"tests.reliability.mutants.{file.stem}" for file in Path(__file__).parent.glob("*.py")}
pytest.register_assert_rewrite(*(PLAYS - sys.modules.keys()))
