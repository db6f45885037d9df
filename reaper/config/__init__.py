"""What a process is told at its start; loaded when it is first used, because a help text needs none of it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reaper.config.loading import BACKENDS, load, load_all
    from reaper.config.settings import Settings
    from reaper.config.variables import PREFIX
else:
    _MODULES = {
        "BACKENDS": "loading",
        "load": "loading",
        "load_all": "loading",
        "Settings": "settings",
        "PREFIX": "variables",
    }

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__} has no attribute {name}")
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


__all__ = ["BACKENDS", "PREFIX", "Settings", "load", "load_all"]
