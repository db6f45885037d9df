"""Endpoints that processes share without a server: what was sent is a file with the event's id."""

from pathlib import Path

from reaper.errors import DeliveryHeld
from reaper.model import Answer, Endpoint, Event, Request

# Webhooks of any name whose address has this word get nothing: their secret is missing.
HELD = "held"


class FolderWebhooks:
    """A double of the Webhooks port."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def request(self, endpoint: Endpoint, event: Event) -> Request:
        return Request(endpoint.url, {"webhook-id": str(event.event_id)}, b"{}")

    def send(self, endpoint: Endpoint, event: Event) -> Answer:
        if HELD in endpoint.url:
            raise DeliveryHeld("variable HOOK is not set here", "Set it.")
        self._root.mkdir(exist_ok=True)
        (self._root / str(event.event_id)).touch()
        return Answer(204)

    @property
    def sent(self) -> set[str]:
        """The ids of all events that were ever sent."""
        return {path.name for path in self._root.iterdir()} if self._root.exists() else set()
