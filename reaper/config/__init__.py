"""What a process is told at its start."""

from reaper.config.loading import BACKENDS, load, load_all
from reaper.config.settings import Settings
from reaper.config.variables import PREFIX

__all__ = ["BACKENDS", "PREFIX", "Settings", "load", "load_all"]
