"""What a process is told at its start."""

from reaper.config.settings import BACKENDS, PREFIX, Settings, load, load_all

__all__ = ["BACKENDS", "PREFIX", "Settings", "load", "load_all"]
