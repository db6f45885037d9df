"""Procrastinate's connections, deaf to what it cannot use: any login may NOTIFY, also with nonsense."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from procrastinate import PsycopgConnector
from procrastinate.connector import Notify

from reaper.db.session_settings import apply_to_queue

JOB_INSERTED, ABORT_REQUESTED = "job_inserted", "abort_job_requested"
Ignored = Callable[[str], None]


class QueueConnector(PsycopgConnector):
    """A notification is a hint: without it the worker looks a second later, so a bad one is only counted."""

    def __init__(self, ignored: Ignored = lambda _channel: None, **options: Any) -> None:
        super().__init__(configure=apply_to_queue, **options)
        self._ignored = ignored

    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        """Pass on that a job was inserted, and nothing else."""

        async def hear(*, channel: str, payload: str) -> None:
            kind = notification_type(payload)
            if kind == JOB_INSERTED:
                await on_notification(channel=channel, payload=payload)
            # Requests to abort are also in the table, where only those write who may; the worker polls it.
            elif kind != ABORT_REQUESTED:
                self._ignored(channel)

        await super().listen_notify(on_notification=hear, channels=channels)


def notification_type(payload: str) -> object:
    """What a notification says that happened; None where it is not one of procrastinate's."""
    try:
        said = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    return said.get("type") if isinstance(said, dict) else None
