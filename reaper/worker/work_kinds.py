"""What runs under a name of the schedule: a service, a slot of the drain, a retention policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from reaper.concurrency import Stop
from reaper.services import drain
from reaper.services.base import Context, Service, Tick

POLICY = "policy:"
# Under this namespace the tasks are added to an app; PostgreSQL queues them by these names.
NAMESPACE = "reaper"
TICK, SERVICE, PURGE, DRAIN = (f"{NAMESPACE}:{task}" for task in ("tick", "service", "purge", "drain"))
# Services go before drains, which come back at once for as long as anything is due; as in reaper.enqueue_job.
PRIORITIES = {TICK: 100, SERVICE: 50, PURGE: 10, DRAIN: 0}
Gate = Callable[[str, Stop], bool]


@dataclass(frozen=True)
class Job:
    """How work is queued: the task, the lock that keeps it from waiting twice, and its arguments."""

    task: str
    lock: str
    arguments: Mapping[str, str | int]


def at_once(_: Context, __: Gate) -> Tick | None:
    """Asked before a run, let it begin."""
    return None


@dataclass(frozen=True)
class Work:
    """One kind of run; `name` is the service in the schedule that it is recorded under."""

    name: str
    tick: Callable[[Context], Tick]
    job: Job
    locked: bool = False
    # Asked before the run is recorded: what to report instead of a run, or None to run.
    before: Callable[[Context, Gate], Tick | None] = at_once
    # It drains: without a free lane it does not wait, but comes back later.
    needs_lane: bool = False
    # So many failures in a row do not keep it from coming back at once; the next scheduled run does the rest.
    comes_back_after_failures: int = 0


def service_lock(name: str) -> str:
    """The queueing lock of a service's job."""
    return f"service:{name}"


def drain_lock(slot: int) -> str:
    """The queueing lock of a drain's job."""
    return f"drain:{slot}"


def policy_lock(policy: str) -> str:
    """The queueing lock of a policy's job, and its name in the schedule."""
    return POLICY + policy


def service_run(service: Service) -> Work:
    """A run of a service; the drain is one slot of it."""
    if service.name == drain.SERVICE.name:
        return drain_slot(service, 0)
    job = Job(SERVICE, service_lock(service.name), {"name": service.name})
    return Work(service.name, service.tick, job, service.locked)


def drain_slot(service: Service, slot: int) -> Work:
    """One of the drain's jobs, which share the backlog."""
    job = Job(DRAIN, drain_lock(slot), {"slot": slot})
    return Work(service.name, service.tick, job, needs_lane=True, comes_back_after_failures=2)


def purge(policy: str) -> Work:
    """One batch of rows that a policy says are too old; it comes back while its batches are full."""
    name = policy_lock(policy)

    def before(context: Context, gate: Gate) -> Tick | None:
        if context.ask(lambda q: q.policy_limit(policy)) is None:
            return Tick()
        return None if gate(name, context.stop) else Tick(more=True)

    def tick(context: Context) -> Tick:
        limit = context.ask(lambda q: q.policy_limit(policy)) or 0
        # The gate, asked a moment ago, knows whether a pause holds for this run.
        deleted = context.ask(lambda q: q.purge_aged(policy, limit, despite_pause=True)) if limit else 0
        return Tick({"deleted": deleted}, more=0 < deleted == limit)

    return Work(name, tick, Job(PURGE, name, {"policy": policy}), before=before)
