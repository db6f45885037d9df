"""The breaker watchdog: probes backends whose circuit is open, and takes back probes whose sender died.

Not locked: the probe itself has a token, so each backend gets one at a time, from any worker.
"""

from __future__ import annotations

from reaper.services.base import Context, Service, Tick
from reaper.storage.probes import Prober


def tick(context: Context) -> Tick:
    """Reset, then probe."""
    probes = Prober(context.ask, context.stores).tick()
    return Tick({"reset": probes.reset, "probed": probes.sent, "closed": probes.closed})


SERVICE = Service("breaker_watchdog", "1 minute", tick, "probes backends whose circuit is open", locked=False)
