"""The watchdog: takes back the batches of dead workers, and finishes their side effects."""

from __future__ import annotations

from dataclasses import asdict

from reaper.services.base import Context, Service, Tick


def tick(context: Context) -> Tick:
    """Reset, then adopt."""
    reset = context.ask(lambda q: q.reset_stuck(context.settings.stuck_after))
    context.telemetry.dead_workers(reset)
    context.look_for_objects()
    adopted = context.adopt()
    context.ask(lambda q: q.record_verdict())
    return Tick({**asdict(reset), "batches_adopted": adopted.batches}, more=adopted.more)


SERVICE = Service("watchdog", "15 seconds", tick, "takes back the batches of dead workers and finishes them")
