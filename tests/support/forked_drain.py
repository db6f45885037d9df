"""A drain in a process of its own that kills or stops itself on its way, or comes to its end."""

from reaper.cli.options import stop_on_signals
from tests.support import botocore_preload
from tests.support.process_faults import FaultPlan, ProcessFault
from tests.support.wiring import Wiring

# Before the fork, for all who are forked.
botocore_preload.read()


def main(wiring: Wiring, *faults: ProcessFault) -> None:
    """Drain to the end, unless a fault says otherwise."""
    app = wiring.app(around=FaultPlan(faults))
    stop_on_signals(app.stop)
    app.drain(workers=1)
