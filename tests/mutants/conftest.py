from pathlib import Path

import pytest

# The plays assert outside of a test file; what they compared shall be seen all the same.
pytest.register_assert_rewrite(*(f"tests.mutants.{file.stem}" for file in Path(__file__).parent.glob("*.py")))
