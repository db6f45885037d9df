"""The breaker watchdog: probes backends that are left alone, and takes back probes whose sender died.

Not locked: the probe itself has a token, so each backend meets one at a time, whoever sends it.
"""

from __future__ import annotations

from reaper.services.base import Context, Service, Tick
from reaper.storage.probes import Prober


def tick(context: Context) -> Tick:
    """Reset, then probe."""
    probes = Prober(context.ask, context.stores).tick()
    return Tick({"reset": probes.reset, "probed": probes.sent, "closed": probes.closed})


SERVICE = Service("breaker_watchdog", "1 minute", tick, "probes backends that did not answer", locked=False)
