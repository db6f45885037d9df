"""How a webhook fares, in one word."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reaper.queries.notifications import WebhookLane


class Phase(StrEnum):
    """What is said first about a webhook."""

    DISABLED = "disabled"
    HELD = "held"
    FAILING = "failing"
    OK = "ok"
    UNUSED = "nothing sent yet"


def phase(lane: WebhookLane) -> Phase:
    """The first of these that applies."""
    if not lane.enabled:
        return Phase.DISABLED
    if lane.held_reason:
        return Phase.HELD
    if lane.failures:
        return Phase.FAILING
    return Phase.OK if lane.last_delivered_at else Phase.UNUSED


def is_in_trouble(lane: WebhookLane) -> bool:
    """Whether a person is wanted: not for a webhook that a person disabled."""
    gone = not lane.enabled and (lane.disabled_reason or "").startswith("the endpoint answered 410")
    return gone or bool(lane.held_reason or lane.given_up or (lane.enabled and lane.failures))
