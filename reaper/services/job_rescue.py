"""Rescue of jobs: those of dead workers are queued again, or failed where that cannot be.

Procrastinate recovers nothing by itself, and its own recipe stops at the first job whose name waits again.
"""

from __future__ import annotations

from reaper.services.base import Context, Service, Tick

AT_ONCE = 100


def tick(context: Context) -> Tick:
    """One bounded rescue."""
    rescued = context.ask(lambda q: q.rescue_jobs(AT_ONCE))
    failed = sum(not job.outcome.startswith("queued") for job in rescued)
    context.telemetry.rescued(rescued)
    return Tick({"queued": len(rescued) - failed, "failed": failed}, more=len(rescued) == AT_ONCE)


SERVICE = Service(
    "job_rescue", "1 minute", tick, "queues the jobs of dead workers again", changes_buckets=False
)
