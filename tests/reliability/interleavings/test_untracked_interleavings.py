"""Objects without a row, deleted beside an application that is about to name them, in every order."""

from dataclasses import dataclass

import pytest

from tests.support.interleavings.actors import Connection
from tests.support.interleavings.explorer import Actor, Run
from tests.support.interleavings.scenes import (
    ExploredDatabase,
    StartState,
    begin,
    codes,
    committed,
    interleave,
    values,
)

SEEN = """
insert into reaper.sightings
values ('default', %s, 10, reaper.clock() - interval '3 days', reaper.clock(), null, null)
    on conflict (backend, object_key) do update set retired_at = null, barrier = null
"""
RETIRE = "select reaper.retire_untracked('default', '{h}')"
SETTLE = "select queued, in_use, waiting from reaper.finish_untracked()"
# The application stores bytes under their hash, then inserts both rows.
CONTENT = "insert into content (content_hash, ref_count, size_bytes) values ('h', 1, 10)"
PASTE = "insert into pastes (short_code, content_hash) values ('new', 'h')"
SHA = "a" * 64
IMPORT = f"select reaper.import_object('default', '{SHA}', '{SHA}', 10)"
MERGE = f"""
insert into content (content_hash, ref_count, size_bytes) values ('{SHA}', 1, 10)
    on conflict (content_hash) do update set ref_count = content.ref_count + 1
"""
NEW = f"insert into pastes (short_code, content_hash) values ('new', '{SHA}')"
# Its name is retired: it tries again later, under another name.
TOLD = {"RP004", "25P02", "23503", "40001"}

pytestmark = pytest.mark.ordeal("interleavings", aim="12,000 schedules", share=0)


@dataclass(frozen=True)
class Seen(StartState):
    """An object that was seen for three days, and nothing else."""

    key: str = "h"

    def reset(self, conn: Connection) -> dict[str, object]:
        memory = super().reset(conn)
        conn.execute("delete from reaper.sightings where object_key <> %s", [self.key])
        conn.execute(SEEN, [self.key])
        return memory


def the_object_of_a_row_is_never_queued(conn: Connection, run: Run) -> list[str]:
    """In the end all transactions have ended: what is not named is queued, what is named is not."""
    for _ in range(3):
        conn.execute(SETTLE)
    queued = values(conn, "select object_key from reaper.cleanup_queue")
    retired = values(conn, "select object_key from reaper.retired_keys")
    if committed(run, "writer") and "new" in codes(conn):
        return [
            f"its object is {what}" for what, left in {"queued": queued, "retired": retired}.items() if left
        ]
    return [] if queued == retired == ["h"] else [f"queued {queued}, retired {retired}"]


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read"])
def test_an_object_is_not_deleted_from_a_row_that_was_not_committed_yet(
    database: ExploredDatabase, isolation: str
) -> None:
    actors = {
        "writer": Actor(begin(CONTENT), PASTE, "commit", isolation=isolation),
        "deleter": Actor(RETIRE, SETTLE, SETTLE),
    }
    result = interleave(database, Seen(), actors, the_object_of_a_row_is_never_queued)
    result.assert_clean(allow=TOLD)
    assert database.explored(result) >= 13


def the_object_is_content_once(conn: Connection, run: Run) -> list[str]:
    """Whoever was first, the object belongs to one content, and a paste that was written lives."""
    places = values(conn, f"select place from reaper.known_objects('default', '{{{SHA}}}')")
    lost = committed(run, "writer") and "new" not in codes(conn)
    return [] if places == ["content"] and not lost else [f"the object is {places}, lost: {lost}"]


def test_an_object_is_imported_once_beside_a_writer_who_names_it(database: ExploredDatabase) -> None:
    database.conn.execute(
        "alter function reaper.import_object(text, text, text, bigint) set lock_timeout = 0"
    )
    actors = {
        "writer": Actor(begin(MERGE), NEW, "commit"),
        "importer": Actor(IMPORT),
        "second": Actor(IMPORT),
    }
    result = interleave(database, Seen(key=SHA), actors, the_object_is_content_once).assert_clean()
    assert database.explored(result) >= 10
