"""The commands and what each does, in one line; its module is imported when the command is called.

`reaper --version`, `reaper --help` and a shell that completes a word would otherwise wait for every driver.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group


class Command(NamedTuple):
    """Where a command is, below reaper.cli, and the first line of its help."""

    module: str
    summary: str


COMMANDS = {
    "demo": Command(
        "demo", "Expire 4,000 sample pastes on embedded servers, with a worker killed on the way."
    ),
    "migrate": Command(
        "migrate", "Bring the database to the schema of this release, while the application runs."
    ),
    "worker": Command(
        "worker",
        "Run the drain and all services on schedule, until told to stop."
        " Start as many as you like, anywhere.",
    ),
    "drain": Command(
        "drain", "Delete what has expired: rows, objects and cache entries, until nothing is due."
    ),
    "watchdog": Command("drain", "Take back the batches of dead workers, and finish their side effects."),
    "plan": Command("plan", "Show what a drain would delete now, and what that costs; change nothing."),
    "status": Command(
        "status",
        "Show the verdict with its reasons, backlog, batches, workers, schedule and queues.",
    ),
    "pause": Command("service", "Stop draining for a while: `reaper service pause drain`."),
    "resume": Command("service", "Resume draining: `reaper service resume drain`."),
    "service": Command("service", "List, run, pause and reschedule services."),
    "lifecycle": Command("lifecycle", "Let pastes expire by code, size and age."),
    "policy": Command("policy", "Delete old rows of any table, by policies."),
    "jobs": Command("jobs", "List the job queue; free the jobs of dead workers."),
    "dlq": Command("dlq", "List, retry or write off deletions that were given up (DLQ)."),
    "backend": Command("backend", "List the backends, drain and remove them, say whose bucket it is."),
    "copies": Command("copies", "Show where the copies of a content lie, and what is known of each."),
    "rebalance": Command("rebalance", "Show what the rebalancer would move, or move it now."),
    "usage": Command("usage", "Show the S3 requests and bytes of each backend by month, and the limits."),
    "webhook": Command("webhook", "Tell endpoints of events."),
    "verify": Command("verify", "Compare database, buckets and cache, both ways, while workers run."),
    "reconcile": Command(
        "integrity",
        "Compare each bucket with the database, to the end of a pass, also while the service is off.",
    ),
    "scrub": Command(
        "integrity", "Read all copies of a content now, compare them with its hash, and record what they are."
    ),
    "orphans": Command("integrity", "List and delete objects that no row names."),
    "why": Command("why", "Show the history of one paste or content, and why it still exists or is gone."),
    "doctor": Command(
        "doctor",
        "Check schema, code, rights, indexes and settings of the database, the bucket and the cache.",
    ),
    "web": Command(
        "web", "Serve the operators' page: what needs you, what is done, and what to do about it."
    ),
    "bench": Command(
        "bench",
        "Measure reaper beside row-by-row deletion, hand-written workers, job queues"
        " and one giant transaction.",
    ),
}


class LazyGroup(TyperGroup):
    """Lists commands without importing them, and imports the one that is called or asked for its help."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: TyperCommand(name, help=listed.summary) for name, listed in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command itself instead of its entry in the list."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed and import_command(listed.name or ""), rest


def import_command(name: str) -> Any:
    """The command, as its module registers it."""
    module = import_module(f"reaper.cli.{COMMANDS[name].module}")
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode="rich")
    module.register(app)
    return get_group(app).commands[name]
