"""Notifications: events in the outbox are delivered to the webhooks that subscribed to them.

Not locked: every webhook has a lane of its own, which one process at a time leases, and every lane has a
thread, so that a slow endpoint delays only its own events. A lane sends in the order of the outbox. What is
refused is tried again later, and others go before it; an endpoint that is in trouble is left alone for a
while, with all its events. A missing secret, or an address that must not be connected to, costs no attempt.

A process may die between an endpoint's answer and its record: the event is then sent again, with its id.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from reaper.concurrency import Stop, for_each
from reaper.errors import ClaimLost, DeliveryHeld, describe
from reaper.model import Answer, Deliveries
from reaper.services.base import Context, Service, Tick

AT_ONCE = 100
# A lease lasts two minutes, one request at most half a minute.
SENDING = 20.0
# How long lanes go on when the time is over, while a slow one ends: far less than a process has to end.
LONGER = 5.0
# What an endpoint has accepted is recorded at least this often.
REPORTED_EVERY = 1.0
# After so many events in a row that it refused the endpoint is left alone; as in reaper_internal.set_lane.
REFUSED_IN_A_ROW = 3


def tick(context: Context) -> Tick:
    """Send in all lanes until nothing is due, or the time is over."""
    figures = Counter(delivered=0, failed=0, held=0, disabled=0)
    due = context.ask(lambda q: q.due_webhooks())
    passing = Pass(context.stop, due)
    lanes = {number: Lane(context, number, name, passing) for number, name in due.items()}
    for done in for_each(lanes, lambda number: lanes[number].run()).values():
        figures.update(done)
    return Tick(figures, more=any(lane.more for lane in lanes.values()))


class Pass:
    """The lanes of one tick, and when they end: together, so that none is idle while a slow one ends.

    The tick waits for the request that a slow endpoint has not answered yet; as long as it does, the others
    go on though the time is over, for a moment: a signal may have come.
    """

    def __init__(self, stop: Stop, webhooks: Iterable[int]) -> None:
        self._stop = stop
        # Those that have not seen yet that the time is over, and until when others go on for them.
        self._at_work = set(webhooks)
        self._until: float | None = None

    def is_over(self, webhook: int) -> bool:
        """Whether this lane is to end; asked between two of its events."""
        if not self._stop.is_set():
            return False
        self.leave(webhook)
        if self._until is None:
            self._until = time.monotonic() + LONGER
        return not self._at_work or time.monotonic() >= self._until

    def leave(self, webhook: int) -> None:
        """The others need not go on for this lane."""
        self._at_work.discard(webhook)


class Lane:
    """The way of the events to one webhook, in one pass."""

    def __init__(self, context: Context, webhook: int, name: str, passing: Pass) -> None:
        self._context = context
        self._webhook = webhook
        self._name = name
        self._pass = passing
        self._done: Counter[str] = Counter()
        self.more = False

    def run(self) -> Counter[str]:
        """Send what is due; returns what became of it."""
        try:
            self.more = self._send_until_over()
        finally:
            self._pass.leave(self._webhook)
        return self._done

    def _send_until_over(self) -> bool:
        while not self._pass.is_over(self._webhook):
            claimed = self._context.ask(lambda q: q.claim_deliveries(self._webhook, AT_ONCE))
            if claimed is None:
                return False
            try:
                Leased(self._context, self._webhook, self._name, self._pass, claimed, self._done).send_all()
            except ClaimLost:
                self._context.telemetry.lease_lost(claimed.lease)
                return False
        return True


class Leased:
    """Events under one lease: sent one after the other, reported in pieces, the rest given back."""

    def __init__(
        self,
        context: Context,
        webhook: int,
        name: str,
        passing: Pass,
        claimed: Deliveries,
        done: Counter[str],
    ) -> None:
        self._context = context
        self._webhook = webhook
        self._name = name
        self._pass = passing
        self._claimed = claimed
        self._done = done
        self._unreported: list[Mapping[str, Any]] = []
        self._refused_in_a_row = 0

    def send_all(self) -> None:
        """Until one tells of trouble, the time is over, or a signal says stop."""
        began = reported = time.monotonic()
        sent = 0
        held: str | None = None
        for number, event in self._claimed.events.items():
            if self._pass.is_over(self._webhook) or time.monotonic() - began >= SENDING:
                break
            try:
                answer = self._context.webhooks().send(self._claimed.endpoint, event)
            except DeliveryHeld as error:
                held = describe(error)
                break
            sent += 1
            self._note(number, answer)
            if self._is_in_trouble(answer):
                break
            if time.monotonic() - reported >= REPORTED_EVERY:
                self._report()
                reported = time.monotonic()
        self._report()
        if sent < len(self._claimed.events):
            self._return(held)

    def _note(self, number: int, answer: Answer) -> None:
        self._unreported.append(
            {
                "outbox_id": number,
                "status": answer.status,
                "error": answer.error,
                "outage": answer.outage,
                "gone": answer.gone,
                "retry_after": answer.retry_after,
            }
        )
        self._done["failed" if answer.error else "delivered"] += 1
        self._refused_in_a_row = self._refused_in_a_row + 1 if answer.error else 0
        if answer.gone:
            self._done["disabled"] += 1
        if answer.error:
            self._context.telemetry.delivery_failed(self._name, answer.error)

    def _is_in_trouble(self, answer: Answer) -> bool:
        return answer.outage or answer.gone or self._refused_in_a_row >= REFUSED_IN_A_ROW

    def _report(self) -> None:
        results, self._unreported = self._unreported, []
        if results:
            claimed = self._claimed
            self._context.ask(lambda q: q.finish_deliveries(self._webhook, claimed.lease, results))

    def _return(self, held: str | None) -> None:
        if held is not None:
            self._done["held"] += 1
            self._context.telemetry.deliveries_held(self._name, held)
        self._context.ask(lambda q: q.return_deliveries(self._webhook, self._claimed.lease, held))


SERVICE = Service(
    "notifications",
    "5 seconds",
    tick,
    "delivers events to webhooks",
    locked=False,
    changes_buckets=False,
)
