"""Copies: contents get as many as they are to have, and lose those that are too many."""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from tests.support.programs.memory_backends import Away
from tests.support.programs.rules import Base, allowing, ends, move, slots, some


@dataclass
class Copying:
    """What a replicator knows of the copies that it makes: which sources it has read, and what was stored."""

    lease: UUID
    tasks: list[Any]
    is_sent: bool = False
    stored: dict[UUID, tuple[Any, str]] = field(default_factory=dict)


class Copiers(Base):
    """The replicator, the cleaner of what is too many, and the operators who tell them what to do."""

    @move(copies=st.integers(1, 2))
    def copies_are_wanted(self, copies: int) -> None:
        """As many of each content as an operator says."""
        self.model.db.execute("update reaper.settings set replication_factor = %s", [copies])

    @move(drained=st.booleans())
    def backend_is_drained(self, drained: bool) -> None:
        """Or takes new objects again."""
        self.model.call("set_backend_state", "east", "draining" if drained else "active", "a test")

    @move(weight=2, limit=some)
    def sweep(self, limit: int) -> None:
        """Look at a window of content."""
        self.model.call("sweep_copies", limit)

    @move(weight=6, slot=slots, limit=some, end=ends)
    def copy(self, slot: int, limit: int, end: str) -> None:
        """The next thing that a replicator does: claim, read and write, commit."""
        copying = self.copiers.get(slot)
        if copying is None:
            self.claim_copies(slot, limit, end)
        elif not copying.is_sent:
            copying.is_sent = True
            for task in copying.tasks:
                self._send(copying, task)
        else:
            self.commit_copies(slot, end)

    def claim_copies(self, slot: int, limit: int, end: str) -> None:
        """What a lost answer leaves is ended when its lease is over."""
        with allowing("55P03") as refusal, self.ending(end):
            tasks = self.model.call("claim_copies", limit)
        if refusal.sqlstate is None and tasks and end == "well":
            self.copiers[slot] = Copying(tasks[0].lease, tasks)

    def _send(self, copying: Copying, task: Any) -> None:
        """From the first source that answers; one that has lost its object would have been noticed."""
        for backend, key in zip(task.sources, task.source_keys, strict=True):
            if not self.model.backends[backend].is_away:
                data = self.model.backends[backend].objects.get(key)
                # The content may be gone by now, and this object with it.
                if data is not None:
                    with suppress(Away):
                        self.model.backends[task.destination].put(task.object_key, data)
                        self.model.in_hand.add((task.destination, task.object_key))
                        copying.stored[task.intent_id] = (task, backend)
                    return

    def commit_copies(self, slot: int, end: str) -> None:
        """All that was stored, and give the rest back; what was ended meanwhile is told of."""
        copying = self.copiers[slot]
        stored = list(copying.stored.values())
        failed = [task for task in copying.tasks if task.intent_id not in copying.stored]
        with allowing("55P03") as refusal, self.ending(end):
            outcomes = self._commit(copying.lease, stored)
            if failed:
                intents = [task.intent_id for task in failed]
                given = (intents, ["no answer"] * len(failed), [True] * len(failed))
                self.model.call("fail_copies", copying.lease, *given)
        if refusal.sqlstate or end == "undone":
            return
        if end == "lost":
            # Asked again, as every call whose answer was lost.
            outcomes = self._commit(copying.lease, stored)
        for task, _ in stored:
            if outcomes[task.intent_id] == "lease_lost":
                gone = (task.destination, task.object_key, task.content_hash, task.size_bytes)
                self.model.call("enqueue_late_upload", *gone)
            self.model.in_hand.discard((task.destination, task.object_key))
            self.model.seen[f"copies {outcomes[task.intent_id]}"] += 1
        del self.copiers[slot]

    def _commit(self, lease: UUID, stored: list[tuple[Any, str]]) -> dict[UUID, str]:
        if not stored:
            return {}
        size = {
            task.intent_id: len(self.model.backends[task.destination].objects.get(task.object_key, b""))
            for task, _ in stored
        }
        rows = self.model.call(
            "commit_copies",
            lease,
            [task.intent_id for task, _ in stored],
            [source for _, source in stored],
            [task.size_bytes or size[task.intent_id] for task, _ in stored],
            [task.content_hash if task.sha256 else None for task, _ in stored],
            [True] * len(stored),
        )
        return {row.intent_id: row.outcome for row in rows}

    @move(limit=some)
    def drop_stale_copies(self, limit: int) -> None:
        """Leases are over, whether or not who had them is dead."""
        self.model.call("drop_stale_copies", limit)

    @move(weight=2, limit=some, end=ends)
    def remove_excess(self, limit: int, end: str) -> None:
        """Look for the copies that are to stay, and remove the one that is too many."""
        for excess in self.model.call("claim_excess", limit):
            kept = zip(excess.keep_backends, excess.keep_keys, strict=True)
            there = {name: each for name, each in self.model.backends.items() if not each.is_away}
            seen = [(b, key) for b, key in kept if b in there and key in there[b].objects]
            gone = (excess.content_hash, excess.remove_backend, excess.remove_key)
            with allowing("55P03"), self.ending(end):
                answer = self.model.call("remove_copy", *gone, [b for b, _ in seen], [key for _, key in seen])
                self.model.seen["copies removed"] += end != "undone" and answer[0].remove_copy == "removed"

    def leave_copies(self) -> None:
        """Before the end of a program everybody says what they have stored."""
        for slot in list(self.copiers):
            self.model.let_go()
            self.commit_copies(slot, "well")
