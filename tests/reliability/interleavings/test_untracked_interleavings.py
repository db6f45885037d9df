"""Objects without a row, deleted beside an application that is about to name them, in every order."""

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
values ('default', 'h', 10, reaper.clock() - interval '3 days', reaper.clock(), null, null)
    on conflict (backend, object_key) do update set retired_at = null, barrier = null
"""
RETIRE = "select reaper.retire_untracked('default', '{h}')"
SETTLE = "select queued, in_use, waiting from reaper.finish_untracked()"
# The application stores bytes under their hash, then inserts both rows.
CONTENT = "insert into content (content_hash, ref_count, size_bytes) values ('h', 1, 10)"
PASTE = "insert into pastes (short_code, content_hash) values ('new', 'h')"
# Its name is retired: it tries again later, under another name.
TOLD = {"RP004", "25P02", "23503", "40001"}

pytestmark = pytest.mark.ordeal("interleavings", aim="12,000 schedules", share=0)


class Seen(StartState):
    """An object that was seen for three days, and nothing else."""

    def reset(self, conn: Connection) -> dict[str, object]:
        memory = super().reset(conn)
        conn.execute(SEEN)
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
