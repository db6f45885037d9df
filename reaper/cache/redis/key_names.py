"""What a paste's cache entry is called, and the tombstone that keeps it from coming back."""

from __future__ import annotations

from reaper.cache.redis.connection import Command

PLACE = "{short_code}"
# Everything that we keep in Redis beside the entries of pastes begins so.
OURS = "reaper:"
TOMBSTONES = OURS + "gone:"
# Twice as long as a ticket is good for (paste_cache.OLDEST_TICKET): what was read before comes too late.
TOMBSTONE_LIFE_MS = 60_000


class KeyNames:
    """Names made from a template, in which `{short_code}` stands for the code."""

    def __init__(self, template: str = PLACE) -> None:
        self.template = template

    def entry(self, code: str) -> str:
        """The key of a paste's entry."""
        # Replaced and not formatted: a code may contain braces.
        return self.template.replace(PLACE, code)

    def tombstone(self, code: str) -> str | None:
        """The key of a paste's tombstone, in the same cluster slot; None where the paste must not be cached.

        Braces decide about slots, so those of a code could pull the two apart.
        """
        key = self.entry(code)
        if "{" in code or "}" in code or key.startswith(OURS):
            return None
        if _has_tag(key):
            return TOMBSTONES + key
        return None if "{" in key or "}" in key else f"{TOMBSTONES}{{{key}}}"

    def removal_commands(self, code: str, remove: str) -> list[Command]:
        """The commands that drop an entry for good: the tombstone first, so that no fill slips in between."""
        tombstone = self.tombstone(code)
        dropped: Command = (remove, self.entry(code))
        return [("SET", tombstone, "1", "PX", TOMBSTONE_LIFE_MS), dropped] if tombstone else [dropped]


def _has_tag(key: str) -> bool:
    """Whether only a part of the key, between its first braces, decides about the slot."""
    opened = key.find("{")
    return opened >= 0 and key.find("}", opened) > opened + 1
