"""The marker object that says whose bucket this is: where it lies, how it is written and read."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import datetime

from reaper.queries.ownership import Installation

# Below this lies what is reaper's own: no content, and no orphan.
OWN_PREFIX = ".reaper/"
OWNER_KEY = f"{OWN_PREFIX}owner"
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Owner:
    """Who a marker names. All as text: a system identifier is too long for a JavaScript number."""

    installation_id: str
    database: str
    system_identifier: str
    written_at: str = ""

    @classmethod
    def of(cls, installation: Installation, now: datetime) -> Owner:
        """The owner that this installation is."""
        return cls(
            str(installation.installation_id),
            installation.database,
            str(installation.system_identifier),
            now.isoformat(timespec="seconds"),
        )

    def is_same(self, other: Owner) -> bool:
        """Whether both are one database of one installation, whenever they were written."""
        return (self.installation_id, self.database, self.system_identifier) == (
            other.installation_id,
            other.database,
            other.system_identifier,
        )

    def encode(self) -> bytes:
        """The marker."""
        return json.dumps(asdict(self), indent=2).encode() + b"\n"

    def __str__(self) -> str:
        since = f", since {self.written_at}" if self.written_at else ""
        return (
            f"installation {self.installation_id}, database {self.database},"
            f" system {self.system_identifier}{since}"
        )


class UnreadableMarker(Exception):
    """A marker that names no owner; its text says why."""


def is_own(key: str) -> bool:
    """Whether an object is reaper's own and not the content of a paste."""
    return key.startswith(OWN_PREFIX)


def decode(data: bytes) -> Owner:
    """The owner that a marker names."""
    if not data.strip():
        raise UnreadableMarker(f"the marker {OWNER_KEY} is empty")
    try:
        found = json.loads(data)
        return Owner(
            installation_id=_text(found, "installation_id"),
            database=_text(found, "database"),
            system_identifier=_text(found, "system_identifier"),
            written_at=str(found.get("written_at", "")),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise UnreadableMarker(f"the marker {OWNER_KEY} names no owner: {data[:_SHOWN]!r}") from None


def _text(found: dict[str, object], name: str) -> str:
    value = found[name]
    if not isinstance(value, str) or not value:
        raise ValueError(name)
    return value
