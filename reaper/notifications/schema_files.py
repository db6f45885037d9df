"""The JSON schemas of the events: one file each, for receivers too."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def schemas() -> dict[str, dict[str, Any]]:
    """The schemas by the names of their events, without io.reaper."""
    folder = files("reaper.notifications") / "schemas"
    return {
        file.name.removesuffix(".json"): json.loads(file.read_text(encoding="utf-8"))
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".json")
    }
