"""What the cache holds of a paste: a line about it, then its bytes.

The line says who wrote the entry. One that an application wrote by itself has no end that could be trusted,
and is not served.
"""

from __future__ import annotations

import json
from datetime import datetime

from reaper.model import Paste

MARK = b"reaper/1 "


def encode(paste: Paste) -> bytes:
    """The entry of a paste."""
    expires_at = paste.expires_at and paste.expires_at.isoformat()
    about = json.dumps([paste.content_hash, expires_at])
    return b"%b%b\n%b" % (MARK, about.encode(), paste.data)


def decode(short_code: str, entry: bytes) -> Paste | None:
    """The paste in an entry; None where it is not one of ours."""
    about, found, data = entry.partition(b"\n")
    if not found or not about.startswith(MARK):
        return None
    try:
        content_hash, expires_at = json.loads(about[len(MARK) :])
        return Paste(short_code, data, content_hash, expires_at and datetime.fromisoformat(expires_at))
    except (ValueError, TypeError):
        return None
