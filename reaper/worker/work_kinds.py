"""What runs under a name of the schedule: a service, a slot of the drain, a retention policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from reaper.concurrency import Stop
from reaper.services import drain
from reaper.services.base import Context, Service, Tick

POLICY = "policy:"
Gate = Callable[[str, Stop], bool]


@dataclass(frozen=True)
class Job:
    """How work is queued: the task, the lock that keeps it from waiting twice, and its arguments."""

    task: str
    lock: str
    arguments: Mapping[str, str | int]


@dataclass(frozen=True)
class Work:
    """One kind of run; `name` is the service in the schedule that it is recorded under."""

    name: str
    tick: Callable[[Context], Tick]
    job: Job
    locked: bool = False
    # So many failures in a row do not keep it from coming back at once; the next scheduled run does the rest.
    comes_back_after_failures: int = 0


def service_run(service: Service) -> Work:
    """A run of a service; the drain is one slot of it."""
    if service.name == drain.SERVICE.name:
        return drain_slot(service, 0)
    job = Job("reaper.service", f"service:{service.name}", {"name": service.name})
    return Work(service.name, service.tick, job, service.locked)


def drain_slot(service: Service, slot: int) -> Work:
    """One of the drain's jobs, which share the backlog."""
    job = Job("reaper.drain", f"drain:{slot}", {"slot": slot})
    return Work(service.name, service.tick, job, comes_back_after_failures=2)


def purge(policy: str, gate: Gate) -> Work:
    """One batch of rows that a policy says are too old; it comes back while its batches are full."""
    name = POLICY + policy

    def tick(context: Context) -> Tick:
        limit = context.ask(lambda q: q.policy_limit(policy))
        if limit is None:
            return Tick()
        if not gate(name, context.stop):
            return Tick(more=True)
        deleted = context.ask(lambda q: q.purge_aged(policy, limit))
        return Tick({"deleted": deleted}, more=deleted == limit)

    return Work(name, tick, Job("reaper.purge", name, {"policy": policy}))
