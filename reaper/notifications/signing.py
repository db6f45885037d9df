"""Signatures as Standard Webhooks has them, with secrets that are read where events are sent."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from standardwebhooks import Webhook

from reaper.errors import DeliveryHeld
from reaper.model import Endpoint

PREFIX = "whsec_"
SHORTEST, LONGEST = 24, 64
# As in reaper_internal.require_secret_env; the database may have been changed by hand.
_OWN_KEYS = re.compile(r"(AWS|REAPER)_", re.IGNORECASE)
_HINT = (
    f"Set it to {PREFIX} and the base64 of {SHORTEST} to {LONGEST} random bytes,"
    " in every process that delivers."
)


def signed(
    endpoint: Endpoint, variables: Mapping[str, str | None], event_id: str, at: datetime, body: bytes
) -> dict[str, str]:
    """The headers that prove the body: one signature for each live secret, none where there is no secret."""
    moment = at.astimezone(UTC)
    headers = {"webhook-id": event_id, "webhook-timestamp": str(int(moment.timestamp()))}
    names = [name for name in (endpoint.secret_env, endpoint.previous_secret_env) if name is not None]
    signatures = [_webhook(name, variables).sign(event_id, moment, body.decode()) for name in names]
    if signatures:
        headers["webhook-signature"] = " ".join(signatures)
    return headers


def _webhook(name: str, variables: Mapping[str, str | None]) -> Webhook:
    if _OWN_KEYS.match(name):
        raise DeliveryHeld(f"{name} may not be used as the secret of a webhook", "Name another variable.")
    value = variables.get(name)
    if not value:
        raise DeliveryHeld(f"variable {name} is not set here", _HINT)
    try:
        secret = base64.b64decode(value.strip().removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise DeliveryHeld(f"variable {name} holds no base64", _HINT) from None
    if not SHORTEST <= len(secret) <= LONGEST:
        raise DeliveryHeld(
            f"variable {name} holds a secret that is not {SHORTEST} to {LONGEST} bytes long", _HINT
        )
    return Webhook(secret)
