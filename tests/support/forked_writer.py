"""A writer in a process of its own, which does not survive its put."""

from datetime import timedelta

import reaper.storage.s3.store  # noqa: F401  loaded before the fork: boto3 takes seconds
from tests.support.process_faults import FaultPlan, ProcessFault
from tests.support.wiring import Wiring


def put(wiring: Wiring, code: str, data: bytes, fault: ProcessFault) -> None:
    """Put a paste as an application does, and be killed on the way."""
    with wiring.app(around=FaultPlan((fault,))) as app:
        app.store().put(data, timedelta(hours=1), code)
