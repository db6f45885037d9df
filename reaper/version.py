"""The version of the installed release."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def installed_version() -> str:
    """As in pyproject.toml; a tree that was never installed has none."""
    try:
        return version("pg-reaper")
    except PackageNotFoundError:
        return "0+unknown"
