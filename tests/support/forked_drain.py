"""A drain that kills or stops itself on its way, or comes to its end."""

import os

from reaper import config
from reaper.app import App
from reaper.cli.options import stop_on_signals
from reaper.dev import fault_points
from tests.support import botocore_models
from tests.support.process_faults import Doom, Fate

# Before the fork, for all who are forked.
botocore_models.read()


def main(variables: dict[str, str], *dooms: Doom) -> None:
    os.environ.update(variables)
    app = App(config.load("database_url", "backends"), fault_points.intercepted(Fate(dooms)))
    stop_on_signals(app.stop)
    app.drain(workers=1)
