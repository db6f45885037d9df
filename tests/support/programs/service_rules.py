"""Services and operators that see to what is owed, left open or left behind."""

import json

from hypothesis import strategies as st

from tests.support.programs.memory_backends import name
from tests.support.programs.rules import Base, Lease, allowing, any_one, ends, move, slots, some, waiting

DEAD = "select backend, object_key from reaper.cleanup_dlq"
WRITE_OFF = "select reaper.write_off_dlq(p_reason => 'let it lie', p_free_names => %s)"


class Services(Base):
    """All but the drain."""

    @move(
        weight=3,
        when=lambda self: self.leases or self.model.waiting.get("queued"),
        slot=slots,
        limit=some,
        end=ends,
    )
    def clean(self, slot: int, limit: int, end: str) -> None:
        """The next thing that somebody does who deletes what is owed: lease it, or delete and settle."""
        if slot in self.leases:
            self._settle(self.leases[slot], end)
            if end != "undone":
                self.leases.pop(slot)
            return
        with self.ending(end):
            rows = self.model.call("claim_cleanup", limit)
        if rows and end == "well":
            objects = [(row.backend, row.object_key) for row in rows]
            self.leases[slot] = Lease(rows[0].lease, objects=objects)

    @move(when=lambda self: self.leases, slot=slots)
    def fall_asleep(self, slot: int) -> None:
        """Somebody with a lease is thought dead."""
        if slot in self.leases:
            self.lost_leases.append(self.leases.pop(slot))

    @move(when=lambda self: self.lost_leases, which=any_one, end=ends)
    def settle_late(self, which: int, end: str) -> None:
        """And settles it after all."""
        lease = self.lost_leases.pop(which % len(self.lost_leases))
        self._settle(lease, end)

    def _settle(self, lease: Lease, end: str) -> None:
        if not self.may_act(lease):
            return
        failures = self.act(lease)
        with allowing("RP001") as refusal, self.ending(end):
            self.model.call("finish_cleanup", lease.batch, json.dumps(failures))
        self.model.seen["late writers refused"] += refusal.sqlstate is not None

    @move(weight=2, when=waiting("entries"), limit=some, end=ends)
    def invalidate(self, limit: int, end: str) -> None:
        """The next thing that somebody does who drops owed entries: lease them, drop them, or settle."""
        held = self.entries
        if held is None:
            rows = self.model.call("claim_invalidations", limit)
            self.entries = Lease(rows[0].lease, codes=[row.short_code for row in rows]) if rows else None
        elif not held.released:
            held.failures, held.released = self.model.cache.forget(held.codes), True
        else:
            with allowing("RP001"), self.ending(end):
                self.model.call("finish_invalidations", held.batch, json.dumps(held.failures))
            self.entries = held if end == "undone" else None

    @move(when=waiting("intents"), limit=some, end=ends)
    def resolve_puts(self, limit: int, end: str) -> None:
        """The pending reaper looks at what writers left open."""
        for row in self.model.call("claim_intents", limit):
            backend = self.model.backends[row.backend]
            if backend.is_away:
                self.model.call("return_intent", row.intent_id, row.lease, "away")
                continue
            data = backend.objects.get(row.object_key)
            found = (data is not None, data and len(data), data and name(data))
            with allowing("55P03") as refusal, self.ending(end):
                done = self.model.call("finish_intent", row.intent_id, row.lease, *found)[0].finish_intent
            if refusal.sqlstate is None and done == "committed" and end != "undone":
                self.model.create(row.short_code, row.content_hash, row.expires_at)

    @move(when=waiting("dead"))
    def retry_dlq(self) -> None:
        """An operator has mended the cause."""
        self.model.call("retry_dlq")

    @move(when=waiting("dead"), free=st.booleans())
    def write_off_dlq(self, free: bool) -> None:
        """An operator lets given-up objects lie."""
        before = set(self.model.sql(DEAD))
        self.model.db.execute(WRITE_OFF, [free])
        self.model.written_off |= before - set(self.model.sql(DEAD))

    @move(limit=some, age=st.sampled_from(["0", "1 day"]), end=ends)
    def collect_unreferenced(self, limit: int, age: str, end: str) -> None:
        """Content that users' own deletes left behind."""
        with self.ending(end):
            self.model.call("collect_unreferenced", limit, age)

    @move()
    def tidy(self) -> None:
        """Accounts are folded, history is pruned."""
        self.model.call("fold_accounts")
        self.model.call("prune_history", "1 hour")
