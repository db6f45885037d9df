"""Batches whose drop or finish failed are let go: a living worker holds nothing that it gave up."""

from __future__ import annotations

from uuid import UUID

from reaper.errors import ReaperError, Unreachable
from reaper.expiry.held_batches import HeldBatches
from reaper.queries import Ask
from reaper.telemetry.events import Telemetry


def give_up(batch_id: UUID, error: Exception, held: HeldBatches, ask: Ask, telemetry: Telemetry) -> None:
    """Let go of a batch; where that fails, the heartbeat tries it again."""
    telemetry.batch_given_up(batch_id, error)
    held.give_up(batch_id)
    # Without a server there is nobody to tell: waiting would only keep the error from being seen.
    if not isinstance(error, Unreachable):
        return_given_up(held, ask, telemetry)


def return_given_up(held: HeldBatches, ask: Ask, telemetry: Telemetry) -> None:
    """Let go of all batches that this process gave up."""
    for batch_id in held.given_up():
        try:
            ask(lambda q, batch_id=batch_id: q.return_or_disown(batch_id))  # type: ignore[misc]
        except ReaperError as error:
            telemetry.return_failed(batch_id, error)
        else:
            held.returned(batch_id)
