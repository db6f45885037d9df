"""Workers that claim, drop and finish, die at any point, and come back as zombies."""

import json
from datetime import timedelta

from hypothesis import strategies as st

from tests.support.programs.rules import Base, Batch, allowing, any_one, ends, move, slots, some

SLEEPS = [timedelta(seconds=61), timedelta(minutes=16), timedelta(hours=3), timedelta(hours=25)]


class Workers(Base):
    """Two of them, and those that are thought dead."""

    @move(weight=14, slot=slots, limit=some, end=ends, tried=st.booleans(), directly=st.booleans())
    def work(self, slot: int, limit: int, end: str, tried: bool, directly: bool) -> None:
        """The next thing that a worker does: adopt, claim, drop, settle; or sleep where nothing is due.

        Directly is without the claim.
        """
        held = self.workers.get(slot)
        if held is None:
            self.adopt(slot, end)
            if slot not in self.workers:
                take = self.reap if directly else self.claim
                take(slot, limit, end)
            if end == "well" and slot not in self.workers:
                self.model.advance(SLEEPS[limit % len(SLEEPS)])
        elif held.released:
            self.finish(slot, end, tried)
        else:
            self.drop(slot, end)

    def claim(self, slot: int, limit: int, end: str) -> None:
        """A worker that holds something was killed, and is another one now."""
        self.kill(slot)
        with self.ending(end):
            rows = self.model.call("claim_expired", limit, f"worker{slot}")
        if rows and end == "well":
            self.workers[slot] = Batch(rows[0].batch_id)

    def reap(self, slot: int, limit: int, end: str) -> None:
        """Release what is due without marking it; nothing is left then but what somebody holds."""
        self.kill(slot)
        with allowing("55P03") as refusal, self.ending(end):
            rows = self.model.call("reap_expired", limit, f"worker{slot}")
        if refusal.sqlstate is not None:
            assert self.model.is_held, "nobody holds what is due"
        elif not rows:
            assert self.model.sql("select reaper.count_due()") == [(0,)], "it was said that nothing is due"
        elif end != "undone":
            self.model.seen["references released"] += rows[0].released
            self.model.seen["direct releases"] += 1
            if end == "well":
                held = self.workers[slot] = Batch(rows[0].batch_id, counted=True)
                self._drop(held, end)

    @move(when=lambda self: self.workers, slot=slots)
    def kill(self, slot: int) -> None:
        """The worker is gone, or so it seems."""
        if slot in self.workers:
            self.graves.append(self.workers.pop(slot))

    def drop(self, slot: int, end: str) -> None:
        """Release what was claimed, or learn that it is lost."""
        if self._drop(self.workers[slot], end):
            self.workers.pop(slot)

    def _drop(self, held: Batch, end: str) -> bool:
        """Whether it is lost."""
        with allowing("RP001") as refusal, self.ending(end):
            rows = self.model.call("drop_references", held.batch)
            codes = self.model.call("released_codes", held.batch)[0].released_codes
        if refusal.sqlstate is None and end != "undone":
            self.model.seen["references released"] += 0 if held.counted else len(codes)
            held.counted = True
            if end == "well":
                held.released, held.codes = True, codes
                held.objects = [(row.backend, row.object_key) for row in rows]
        return refusal.sqlstate is not None

    def finish(self, slot: int, end: str, tried: bool) -> None:
        """Do what is to be done outside, and settle."""
        self._finish(self.workers[slot], end, tried)
        if end != "undone":
            self.workers.pop(slot)

    def _finish(self, held: Batch, end: str, tried: bool) -> None:
        if not self.may_act(held):
            return
        report = json.dumps(self.act(held)) if tried else None
        with allowing("RP001") as refusal, self.ending(end):
            self.model.call("finish_batch", held.batch, report)
        self.model.seen["late writers refused"] += refusal.sqlstate is not None

    @move(when=lambda self: self.graves, which=any_one, end=ends, tried=st.booleans())
    def wake_up(self, which: int, end: str, tried: bool) -> None:
        """One that was thought dead goes on where it was."""
        zombie = self.graves.pop(which % len(self.graves))
        if not zombie.released:
            self._drop(zombie, end)
        else:
            self._finish(zombie, end, tried)

    def adopt(self, slot: int, end: str) -> None:
        """Take over what nobody holds."""
        self.kill(slot)
        with self.ending(end):
            rows = self.model.call("adopt_batch", f"worker{slot}")
        if rows and end == "well":
            (row,) = rows
            objects = list(zip(row.backends, row.object_keys, strict=True))
            self.workers[slot] = Batch(row.batch_id, released=True, codes=row.short_codes, objects=objects)

    @move(
        slot=slots, how=st.sampled_from(["heartbeat", "heartbeat", "return_unknown_batches", "retire_worker"])
    )
    def tell(self, slot: int, how: str) -> None:
        """A worker lives, or lets go of what it does not know of, or ends in good order."""
        if how == "return_unknown_batches":
            known = [self.workers[slot].batch] if slot in self.workers else []
            self.model.call("return_unknown_batches", f"worker{slot}", known)
        else:
            self.model.call(how, f"worker{slot}")

    @move(age=st.sampled_from(["0", "2 hours", "2 hours"]), end=ends)
    def reset_stuck(self, age: str, end: str) -> None:
        """The watchdog."""
        with self.ending(end):
            self.model.call("reset_stuck", age)

    @move(size=st.integers(1, 3))
    def drain_at_psql(self, size: int) -> None:
        """A DBA does the database's half of a drain."""
        self.model.db.execute("call reaper.drain(%s)", [size])
