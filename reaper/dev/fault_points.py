"""Crash points: every call at which a process can die, or lose the answer, with the world changed or not yet.

All that a process does outside itself goes through a method of `Queries` or of a port: these are the points,
and each has the name of its method. Production does nothing at them. Whoever wants to see what a death leaves
behind puts something around them all, in a process of its own: the demo does, and so do the tests, which die,
stop and lose the answer at each. A method that is missing here fails a test, and so does one that no job of
theirs ever passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, Protocol

from reaper.app import App
from reaper.queries import Queries

# One SQL function each, and one commit.
COMMITS = (
    "abort_put",
    "adopt_batch",
    "await_standby",
    "begin_probe",
    "begin_put",
    "begin_run",
    "claim_cleanup",
    "claim_expired",
    "claim_intents",
    "claim_invalidations",
    "collect_unreferenced",
    "commit_put",
    "defer_intent",
    "defer_job",
    "delete_paste",
    "dispatch",
    "drop_references",
    "due_services",
    "extend_paste",
    "finish_batch",
    "finish_cleanup",
    "finish_invalidations",
    "finish_probe",
    "finish_run",
    "fold_accounts",
    "give_back",
    "heartbeat",
    "leave_unknown",
    "lock_service",
    "note_throttle",
    "owe_upload",
    "prune_history",
    "prune_jobs",
    "purge_aged",
    "record_job_error",
    "register_backend",
    "register_service",
    "report_failure",
    "report_success",
    "rescue_jobs",
    "reset_stale_probes",
    "reset_stuck",
    "resolve_intent",
    "retire_worker",
    "returned_ownerless",
    "skip_run",
    "unlock_service",
)
# PostgreSQL is asked, and nothing changes.
QUESTIONS = (
    "circuit_states",
    "copies_of",
    "count_due",
    "failures_in_a_row",
    "get_paste",
    "is_runnable",
    "now",
    "ownerless_rows",
    "policy_limit",
    "throttle",
)
OBJECTS = ("check", "delete", "digest", "find", "get", "list", "probe", "put")
CACHE = ("check", "codes", "drop", "forget", "present")
PASTES = ("drop", "fill", "read")
# The two ends of holding it.
LOCK = ("acquire", "release")

ALL = (
    *COMMITS,
    *QUESTIONS,
    *(f"objects.{name}" for name in OBJECTS),
    *(f"cache.{name}" for name in CACHE),
    *(f"pastes.{name}" for name in PASTES),
    *(f"lock.{name}" for name in LOCK),
)


class Around(Protocol):
    """What is put around the points; a thread may be at one while another is at the next."""

    def __call__(self, point: str, call: Callable[..., Any], *arguments: Any) -> Any:
        """Make the call or do not; what is returned or raised is what the caller gets."""


def surround(app: App, around: Around) -> None:
    """Put something around every point of this app; those of `Queries` are the whole process's."""
    for name in (*COMMITS, *QUESTIONS):
        setattr(Queries, name, _surrounded(name, getattr(Queries, name), around))
    for store in app.buckets.values():
        _surround_port("objects", store, OBJECTS, around)
    _surround_port("cache", app.cache, CACHE, around)
    _surround_port("pastes", app.pastes, PASTES, around)
    setattr(app.claim_lock, "hold", partial(_hold, app.claim_lock.hold, around))  # noqa: B010


def _surround_port(kind: str, port: object, names: tuple[str, ...], around: Around) -> None:
    for name in names:
        setattr(port, name, _surrounded(f"{kind}.{name}", getattr(port, name), around))


def _surrounded(point: str, call: Callable[..., Any], around: Around) -> Callable[..., Any]:
    def passed(*arguments: Any, **named: Any) -> Any:
        return around(point, partial(call, **named) if named else call, *arguments)

    return passed


@contextmanager
def _hold(hold: Callable[[], AbstractContextManager[bool]], around: Around) -> Iterator[bool]:
    """A lock of which nobody knows that it is held is not released: it runs out."""
    holding = hold()
    held = around("lock.acquire", holding.__enter__)
    try:
        yield held
    finally:
        if held:
            around("lock.release", holding.__exit__, None, None, None)
