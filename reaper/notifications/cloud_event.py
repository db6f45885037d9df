"""An event as CloudEvents 1.0 in JSON; the same bytes in every attempt."""

from __future__ import annotations

from datetime import UTC

from cloudevents.conversion import to_json
from cloudevents.http import CloudEvent

from reaper.model import Event

CONTENT_TYPE = "application/cloudevents+json"
NAMESPACE = "io.reaper."


def as_json(event: Event) -> bytes:
    """The body of the request."""
    attributes = {
        "specversion": "1.0",
        "id": str(event.event_id),
        "source": f"urn:uuid:{event.source}",
        "type": NAMESPACE + event.type,
        "time": event.occurred_at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "datacontenttype": "application/json",
    }
    if event.subject is not None:
        attributes["subject"] = event.subject
    return to_json(CloudEvent(attributes, event.data))
