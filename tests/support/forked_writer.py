"""A writer in a process of its own, which does not survive its put."""

import os
import signal
from datetime import timedelta

import reaper.storage.s3.store  # noqa: F401  loaded before the fork: boto3 takes seconds
from reaper import config
from reaper.app import App
from reaper.store.put import Attempt

MOMENTS = {"before the upload": "_upload", "before the commit": "_commit"}


def create(variables: dict[str, str], code: str, data: bytes, killed: str) -> None:
    """Put a paste as an application does, and be killed on the way."""
    os.environ.update(variables)
    setattr(Attempt, MOMENTS[killed], lambda _: os.kill(os.getpid(), signal.SIGKILL))
    with App(config.load("database_url", "backends")) as app:
        app.store().put(data, timedelta(hours=1), code)
