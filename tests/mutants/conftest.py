import pytest

AREAS = [
    "claiming",
    "cleaning",
    "counting",
    "doors",
    "dropping",
    "finishing",
    "naming",
    "pending",
    "watching",
]

pytest.register_assert_rewrite(*(f"tests.mutants.{area}" for area in ("scene", *AREAS)))
