"""Webhooks, the events that wait for them, and those that were given up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from reaper.model import Deliveries, Endpoint, Event
from reaper.queries.base import Area, commits, reads


@dataclass(frozen=True, slots=True)
class WebhookLane:
    """A webhook, what waits for it, and how its last deliveries ended."""

    name: str
    endpoint: str
    events: list[str]
    secret_env: str | None
    previous_secret_env: str | None
    enabled: bool
    disabled_reason: str | None
    waiting: int
    oldest_waiting: datetime | None
    given_up: int
    failures: int
    failing_since: datetime | None
    held_until: datetime | None
    held_reason: str | None
    last_error: str | None
    last_delivered_at: datetime | None


@dataclass(frozen=True, slots=True)
class Replay:
    """Which events to send again; None = any. `before` leaves out those settled after one has looked."""

    since: datetime | None = None
    until: datetime | None = None
    event_ids: Sequence[UUID] | None = None
    dlq_only: bool = False
    before: datetime | None = None


class Notifications(Area):
    """Webhooks, the events that wait for them, and those that were given up."""

    @reads
    def due_webhooks(self) -> dict[int, str]:
        """The webhooks with an event to send now: number and name."""
        return dict(self._db.tuples("select webhook_id, name from reaper.due_webhooks()"))

    @commits
    def claim_deliveries(self, webhook: int, limit: int) -> Deliveries | None:
        """Lease the next events of a webhook; None while another process has its lane, or nothing is due."""
        rows = self._db.tuples("select * from reaper.claim_deliveries(%s, %s)", webhook, limit)
        if not rows:
            return None
        lease, url, secret, previous, source = rows[0][:5]
        events = {row[5]: Event(source, *row[6:]) for row in rows}
        return Deliveries(lease, Endpoint(url, secret, previous), events)

    @commits
    def finish_deliveries(self, webhook: int, lease: UUID, results: Sequence[Mapping[str, Any]]) -> int:
        """Record how sending ended, in the order of sending; returns how many were accepted."""
        return int(
            self._db.value(
                "select reaper.finish_deliveries(%s, %s, %s)", webhook, lease, Jsonb(list(results))
            )
        )

    @commits
    def return_deliveries(self, webhook: int, lease: UUID, held_reason: str | None) -> int:
        """Give back what was not sent; with a reason the lane is held for a minute."""
        return int(self._db.value("select reaper.return_deliveries(%s, %s, %s)", webhook, lease, held_reason))

    @commits
    def prune_deliveries(self, limit: int) -> int:
        """Delete old deliveries, at most so many of each kind; returns how many."""
        return int(self._db.value("select reaper.prune_deliveries(%s)", limit))

    @commits
    def record_verdict(self) -> bool:
        """Tell webhooks of the verdict if it has changed."""
        return bool(self._db.value("select reaper.record_verdict()"))

    @reads
    def webhooks(self) -> list[WebhookLane]:
        """Every webhook."""
        return self._db.all(WebhookLane, "select * from reaper.webhook_lanes")

    @reads
    def webhook_to_test(self, name: str) -> tuple[Endpoint, Event] | None:
        """The webhook and an event to send to it; None where there is none of that name."""
        rows = self._db.tuples("select * from reaper.webhook_to_test(%s)", name)
        if not rows:
            return None
        url, secret, previous, *event = rows[0]
        return Endpoint(url, secret, previous), Event(*event)

    @commits
    def add_webhook(self, name: str, url: str, events: Sequence[str], secret_env: str | None) -> int:
        """Add a webhook; returns its number."""
        return int(
            self._db.value("select reaper.add_webhook(%s, %s, %s, %s)", name, url, list(events), secret_env)
        )

    @commits
    def remove_webhook(self, name: str) -> int:
        """Remove a webhook; returns how many events waited for it."""
        return int(self._db.value("select reaper.remove_webhook(%s)", name))

    @commits
    def enable_webhook(self, name: str, reason: str | None = None) -> None:
        """Deliver to the webhook again, at once."""
        self._db.value("select reaper.enable_webhook(%s, %s)", name, reason)

    @commits
    def disable_webhook(self, name: str, reason: str) -> None:
        """Deliver nothing to the webhook until it is enabled."""
        self._db.value("select reaper.disable_webhook(%s, %s)", name, reason)

    @commits
    def rotate_webhook_secret(self, name: str, secret_env: str, keep_old: bool) -> None:
        """Sign with another secret, and for as long as is told with the former one too."""
        self._db.value("select reaper.rotate_webhook_secret(%s, %s, %s)", name, secret_env, keep_old)

    @commits
    def replay_deliveries(self, name: str, chosen: Replay, limit: int, reason: str | None = None) -> int:
        """Queue a batch of events for delivery again; returns how many."""
        return int(
            self._db.value(
                "select reaper.replay_deliveries(%s, %s, %s, %s, %s, %s, %s, %s)",
                *(name, chosen.since, chosen.until),
                None if chosen.event_ids is None else list(chosen.event_ids),
                *(chosen.dlq_only, chosen.before, limit, reason),
            )
        )
