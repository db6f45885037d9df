"""Counts what the S3 client really sends: each try of a request, and the bytes of its body and its answer."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from botocore.exceptions import (
    ConnectTimeoutError,
    EndpointConnectionError,
    ProxyConnectionError,
    SSLError,
)
from botocore.response import StreamingBody

from reaper.storage.usage_meter import BackendMeter, Kind

if TYPE_CHECKING:
    from botocore.awsrequest import AWSPreparedRequest
    from botocore.hooks import BaseEventHooks

# Nobody has heard the request.
NOT_SENT = (ConnectTimeoutError, EndpointConnectionError, ProxyConnectionError, SSLError)
_KINDS = (
    ("Delete", Kind.DELETE),
    ("Abort", Kind.DELETE),
    ("List", Kind.LIST),
    ("Get", Kind.READ),
    ("Head", Kind.READ),
)


def kind_of(operation: str) -> Kind:
    """What a request of this name does, as stores charge for it."""
    return next((kind for prefix, kind in _KINDS if operation.startswith(prefix)), Kind.WRITE)


class RequestCounter:
    """Listens to a client; a try begins and ends on one thread, the next one after it."""

    def __init__(self, meter: BackendMeter) -> None:
        self._meter = meter
        self._sending = threading.local()

    def listen(self, events: BaseEventHooks) -> None:
        """Hear of each try that begins and ends."""
        events.register_last("before-send.s3", self._begun)
        events.register_last("response-received.s3", self._ended)

    def read(self, body: StreamingBody) -> None:
        """The reader of an object has taken what it wanted of it."""
        self._count(Kind.READ, body.tell())

    def _begun(self, request: AWSPreparedRequest, **_: object) -> None:
        self._sending.ingress = int(request.headers.get("Content-Length") or 0)

    def _ended(self, event_name: str, response_dict: Any, exception: Any, **_: object) -> None:
        if isinstance(exception, NOT_SENT):
            return
        body = b"" if response_dict is None else response_dict["body"]
        # Its bytes are still to come: counted when they have.
        if isinstance(body, bytes):
            self._count(kind_of(event_name.rpartition(".")[2]), len(body))

    def _count(self, kind: Kind, egress: int) -> None:
        ingress, self._sending.ingress = getattr(self._sending, "ingress", 0), 0
        self._meter.count(kind, ingress, egress)
