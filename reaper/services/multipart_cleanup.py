"""Stale multipart uploads: objects that were begun in parts and never ended.

Their parts cost money, and no listing of objects shows them.

Each backend's open uploads below our prefix are looked at. One whose last part is older than
`settings.multipart_max_age` is aborted with its parts, unless a put or a copy that is not settled holds it.
The parts are looked at right before, so an upload that is slow and lives keeps them; a writer that returns is
told so, and begins again. A backend whose circuit is open is skipped, which the figures say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from reaper.concurrency import for_each
from reaper.errors import CircuitOpen, NotSupported, ReaperError, Unreachable
from reaper.model import OpenUpload, UploadedParts
from reaper.ports import ObjectStore
from reaper.services.base import Context, Service, Tick

AT_ONCE = 100


def tick(context: Context) -> Tick:
    """Look at every backend, side by side; one that fails keeps no other from being looked at."""
    before = context.ask(lambda q: q.stale_uploads_before())
    looks = for_each(context.stores, lambda name: _look(context, name, before))
    figures = Counter(looked_at=0, aborted=0, parts=0, bytes=0, held=0, refused=0, unsupported=0, skipped=0)
    for look in looks.values():
        figures.update(look.figures)
    for look in looks.values():
        if look.failure:
            raise look.failure
    return Tick(figures, more=context.stop.is_set())


def _look(context: Context, backend: str, before: datetime) -> BackendLook:
    look = BackendLook(context, backend, context.stores[backend], before)
    try:
        look.run()
    except NotSupported:
        look.figures["unsupported"] += 1
    except CircuitOpen:
        # The circuit has named the failure.
        look.figures["skipped"] += 1
    except ReaperError as error:
        look.failure = error
    return look


@dataclass
class BackendLook:
    """One backend in one pass."""

    context: Context
    backend: str
    store: ObjectStore
    before: datetime
    figures: Counter[str] = field(default_factory=Counter)
    failure: ReaperError | None = None
    oldest: datetime | None = None
    still_open: int = 0

    def run(self) -> None:
        """Look at all that is open, and record what is left."""
        for page in _pages(self.store.uploads()):
            held = self._held(page)
            for upload in page:
                self._try(upload, upload.upload_id in held)
            if self.context.stop.is_set():
                break
        self.context.ask(
            lambda q: q.record_uploads(
                self.backend, self.still_open, self.oldest, self.figures["parts"], self.figures["bytes"]
            )
        )

    def _try(self, upload: OpenUpload, held: bool) -> None:
        """A store that refuses requests about one upload keeps no other from being aborted."""
        try:
            self._judge(upload, held)
        except (Unreachable, NotSupported):
            raise
        except ReaperError as error:
            self.figures["refused"] += 1
            self._note_open(upload)
            self.failure = self.failure or error

    def _judge(self, upload: OpenUpload, held: bool) -> None:
        self.figures["looked_at"] += 1
        self.figures["held"] += held
        # An upload is never older than it began: most need no second request.
        if held or upload.begun_at >= self.before or not self._abort(upload):
            self._note_open(upload)

    def _note_open(self, upload: OpenUpload) -> None:
        self.still_open += 1
        self.oldest = min(upload.begun_at, self.oldest or upload.begun_at)

    def _abort(self, upload: OpenUpload) -> bool:
        """Whether it is gone."""
        found = self.store.parts(upload)
        if found is None:
            return True
        if self._is_young(upload, found) or self._held([upload]):
            return False
        self.store.abort(upload)
        # A part under way may have been stored after the abort.
        if self.store.parts(upload) is not None:
            self.store.abort(upload)
        self.figures.update(aborted=1, parts=found.number, bytes=found.size)
        return True

    def _is_young(self, upload: OpenUpload, found: UploadedParts) -> bool:
        return (found.last_at or upload.begun_at) >= self.before

    def _held(self, uploads: Sequence[OpenUpload]) -> set[str]:
        return self.context.ask(lambda q: q.held_uploads(self.backend, uploads))


def _pages(uploads: Iterator[OpenUpload]) -> Iterator[Sequence[OpenUpload]]:
    while page := list(islice(uploads, AT_ONCE)):
        yield page


SERVICE = Service(
    "multipart_cleanup", "1 hour", tick, "aborts abandoned uploads in parts and deletes what they stored"
)
