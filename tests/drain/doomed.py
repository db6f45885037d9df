"""A drain that kills or stops itself on its way; `never` lets it come to its end."""

import os
import signal
import time

from reaper import config
from reaper.app import App
from reaper.cli.options import stop_on_signals
from tests import service_descriptions

# Before the fork, for all who are forked.
service_descriptions.read()
SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "never": signal.SIGABRT}


class Doom:
    def __init__(self, point: str, how: str, nth: int) -> None:
        self.point, self.signal, self.left = point, SIGNALS[how], nth

    def __call__(self, point: str) -> None:
        if point == self.point:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), self.signal)
                # Another thread may take the signal, and this one would go on for a moment.
                time.sleep(0.1)


def main(variables: dict[str, str], point: str, how: str, nth: int) -> None:
    os.environ.update(variables)
    app = App(config.load("database_url", "backends"), at=Doom(point, how, nth))
    stop_on_signals(app.stop)
    app.drain(workers=1)
