"""Reading `reaper.toml`, which has two parts: the backends and the tables of the application."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from reaper.errors import ConfigError

PARTS = ("backends", "tables")


def read_toml(path: Path) -> dict[str, Any]:
    """The file as it is; ConfigError where it cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not TOML: {error}") from None
