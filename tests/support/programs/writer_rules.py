"""Writers: through the doors, in one go or step by step, and past them by plain SQL."""

from contextlib import suppress
from datetime import timedelta

from hypothesis import strategies as st

from tests.support.programs.memory_backends import Away, content, name
from tests.support.programs.model import Paste
from tests.support.programs.rules import (
    Base,
    Upload,
    allowing,
    any_one,
    codes,
    ends,
    lives,
    move,
    numbers,
    slots,
)

# The writer that does all at once.
HASTY = -1
# Twice settings.intent_min_age: until then a key that was given up is deleted once more.
LATEST = timedelta(minutes=30)
ROOM = """
select b.quota is null or not i.reserved
       or b.quota >= (select sum(d.used_bytes + d.orphan_bytes + d.reserved_bytes)
                        from reaper.byte_deltas d where d.backend = b.name)
  from reaper.put_intents i join reaper.backend_list b on b.name = i.backend
 where i.intent_id = %s
"""
# An application that counts its own references.
STORE = """
insert into content (content_hash, ref_count, size_bytes) values (%s, 1, %s)
    on conflict (content_hash) do update set ref_count = content.ref_count + 1
"""
INSERT = "insert into pastes (short_code, content_hash, expires_at) values (%s, %s, %s)"
EXTEND = "update pastes set expires_at = %s where short_code = %s"
DELETE = """
with gone as (delete from pastes where short_code = %s returning content_hash)
update content c set ref_count = ref_count - 1 from gone where c.content_hash = gone.content_hash
"""


class Writers(Base):
    """Whoever makes pastes."""

    @move(weight=3, slot=slots, code=codes, number=numbers, life=lives, end=ends)
    def write(self, slot: int, code: int, number: int, life: timedelta | None, end: str) -> None:
        """The next thing that a writer does: begin, upload, also where that is not needed, commit."""
        upload = self.writers.get(slot)
        if upload is None:
            self.begin_put(slot, self.code(code), number, life)
        elif not upload.stored and (upload.needed or number == 0):
            self.upload(slot, "late" if end == "lost" else "well")
        else:
            self.commit_put(slot, end)

    def begin_put(self, slot: int, code: str, number: int, life: timedelta | None) -> None:
        """Announce a paste; a writer that was at work gives up without a word."""
        data, until = content(number), life and self.model.now + life
        with allowing("23505", "RP008", "55P03") as refusal:
            row = self.model.call("begin_put", code, name(data), len(data), until)[0]
        if refusal.sqlstate:
            return
        assert code not in self.model.living()
        assert self.model.sql(ROOM, row.intent_id) == [(True,)], "more was promised than there is room for"
        self.leave(slot)
        place = (row.backend, row.object_key, self.model.now, row.upload_required)
        self.writers[slot] = Upload(row.intent_id, code, data, until, *place)

    def leave(self, slot: int) -> None:
        """Bytes that were sent and not confirmed may still land for a while; those that landed are owed."""
        upload = self.writers.pop(slot, None)
        if upload and upload.stored:
            self.model.call(
                "enqueue_late_upload", upload.backend, upload.key, name(upload.data), len(upload.data)
            )
            self.model.in_hand.discard((upload.backend, upload.key))
        elif upload and upload.sent:
            self.landing.append((upload.backend, upload.key, upload.data, upload.begun + LATEST))

    def upload(self, slot: int, how: str) -> None:
        """Send the bytes, however late; or be told nothing, and have them land later or never."""
        upload = self.writers[slot]
        upload.sent = True
        if how == "well":
            with suppress(Away):
                self.model.backends[upload.backend].put(upload.key, upload.data)
                upload.stored = True
                self.model.in_hand.add((upload.backend, upload.key))

    @move(when=lambda self: self.landing, which=any_one, harmed=st.sampled_from(["", "cut off", "changed"]))
    def land(self, which: int, harmed: str) -> None:
        """Bytes arrive whose sender is gone, and perhaps not as they were sent."""
        backend, key, data, latest = self.landing.pop(which % len(self.landing))
        if self.model.now < latest:
            forms = {"": data, "cut off": data[1:], "changed": data[::-1]}
            self.model.backends[backend].objects[key] = forms[harmed]

    def commit_put(self, slot: int, end: str) -> None:
        """Only who knows that its bytes are there, or needs none, commits."""
        upload = self.writers.get(slot)
        if upload is None or (not upload.stored and (upload.sent or upload.needed)):
            return
        with allowing("RP002", "RP003", "23505", "55P03") as refusal, self.ending(end):
            self.model.call("commit_put", upload.intent, upload.sent)
        if refusal.sqlstate == "RP002":
            assert not upload.sent
            upload.needed = True
        elif refusal.sqlstate in ("RP003", "23505"):
            self.leave(slot)
        elif refusal.sqlstate is None and end != "undone":
            self.model.create(upload.code, name(upload.data), upload.until)
            self.leave(slot)

    @move(when=lambda self: self.writers, slot=slots, end=ends)
    def abort_put(self, slot: int, end: str) -> None:
        """Give up in good order."""
        upload = self.writers.get(slot)
        if upload:
            with self.ending(end):
                self.model.call("abort_put", upload.intent, upload.sent)
            if end != "undone":
                self.leave(slot)

    @move(weight=4, code=codes, number=numbers, life=lives)
    def put(self, code: int, number: int, life: timedelta | None) -> None:
        """All of it at once."""
        self.begin_put(HASTY, self.code(code), number, life)
        if HASTY in self.writers and self.writers[HASTY].needed:
            self.upload(HASTY, "well")
        self.commit_put(HASTY, "well")

    @move(weight=2, which=codes, number=numbers, life=lives)
    def put_by_hand(self, which: int, number: int, life: timedelta | None) -> None:
        """An application stores under the bare hash; its object is there when its rows are."""
        bare, until, data = f"bare{number}", life and self.model.now + life, content(number)
        code = self.code(which)
        with allowing("RP004", "23505", "55P03") as refusal, self.model.db.transaction():
            self.model.db.execute(STORE, [bare, len(data)])
            self.model.db.execute(INSERT, [code, bare, until])
            self.model.backends["default"].objects[bare] = data
        if refusal.sqlstate is None:
            self.model.create(code, bare, until)

    @move(when=lambda self: self.model.pastes, which=any_one)
    def delete_by_hand(self, which: int) -> None:
        """An application deletes a row of its own, and sees to its count and its cache entry."""
        code = self.known(which)
        with allowing("55P03") as refusal:
            self.model.db.execute(DELETE, [code])
        if refusal.sqlstate is None:
            self.model.pastes.pop(code, None)
            self.model.cache.entries.pop(code, None)

    @move(weight=3, when=lambda self: self.model.pastes, which=any_one, life=lives)
    def extend_by_hand(self, which: int, life: timedelta | None) -> None:
        """An application knows nothing of marks, and gives a row a longer life by its own UPDATE."""
        known = self.model.pastes[code := self.known(which)]
        if known.until is None:
            return
        until = None if life is None else max(known.until, self.model.now) + life
        with allowing("55P03") as refusal:
            done = self.model.db.execute(EXTEND, [until, code]).rowcount
        if refusal.sqlstate is None and done:
            self.model.pastes[code] = Paste(known.content_hash, until)
