"""What the doors' interleavings share: statements, whole scenes, and what must be true when they end."""

from collections.abc import Iterable

from tests.support.interleavings.actors import Connection, Memory
from tests.support.interleavings.explorer import Actor, Exploration, Run, explore
from tests.support.interleavings.scenes import (
    ExploredDatabase,
    Judge,
    StartState,
    begin,
    codes,
    committed,
    values,
    violations,
)

EXTEND = "select reaper.extend_paste('a', reaper.clock() + interval '1 day') as done"
DELETE = "select reaper.delete_paste('b') as done"
RESOLVE = "select reaper.finish_intent(%(put_new)s, %(lease)s, {found}, 10) as outcome"
PUT = "select intent_id from reaper.begin_put('{0}', '{0}', 10)"
OVERDRAWN = """
    select format('%s of %s bytes are taken', bytes_used + orphan_bytes + reserved_bytes, quota)
      from reaper.backends where bytes_used + orphan_bytes + reserved_bytes > quota
"""


def commit(code: str, uploaded: bool = True) -> str:
    """The statement that commits a put which was begun in the world."""
    return f"select object_key, stored from reaper.commit_put(%(put_{code})s, {uploaded})"


def abort(code: str) -> str:
    return f"select reaper.abort_put(%(put_{code})s) as done"


def upload_and_commit(conn: Connection, _memory: Memory) -> bool:
    """Whoever was told that its bytes are needed uploads them and commits again; others are done."""
    left = values(conn, "select intent_id from reaper.put_intents where short_code = 'new'")
    if left:
        conn.execute("select from reaper.commit_put(%s, true)", left)
    return bool(left)


def first(run: Run, label: str) -> object:
    """The first column of the row that a step returned; None when it failed."""
    rows = run.outcomes[label].value
    return rows[0][0] if rows else None


def readable(conn: Connection, code: str) -> bool:
    return bool(values(conn, "select object_key from reaper.get_paste(%s)", code))


def is_kept(code: str, actor: str = "writer") -> Judge:
    """The judgement that a paste is readable if its writer was told that it is made, and else is not."""

    def judge(conn: Connection, run: Run) -> Iterable[str]:
        if readable(conn, code) is not committed(run, actor):
            yield f"{code} is {'readable' if readable(conn, code) else 'lost'}"

    return judge


def is_there(conn: Connection, _run: Run) -> list[str]:
    """The judgement that the new paste is readable, whatever happened."""
    return [] if readable(conn, "new") else ["the new paste is lost"]


ENDS = {
    "commit": Actor(begin(commit("new")), "commit"),
    "abort": Actor(begin(abort("new")), "commit"),
    "pending reaper finds it": Actor(begin(RESOLVE.format(found=True)), "commit"),
    "pending reaper finds nothing": Actor(begin(RESOLVE.format(found=False)), "commit"),
}


def ended_once(conn: Connection, run: Run) -> Iterable[str]:
    """Whoever came second changed nothing: there is a paste, or its key is owed a deletion, never both."""
    made = "new" in codes(conn)
    owed = values(conn, "select count(*) from reaper.cleanup_queue")[0]
    if made + owed != 1:
        yield f"the paste is {'made' if made else 'not made'}, {owed} keys are owed a deletion"
    if run.outcomes.get("commit1") and committed(run, "commit") and not made:
        yield "the writer was told that its paste is made"


def extension_is_kept(conn: Connection, run: Run) -> Iterable[str]:
    """Who was told that the paste is extended finds it; who was told that it is gone does not."""
    told = first(run, "writer1")
    if told is not readable(conn, "a"):
        yield f"extend_paste said {told}, and the paste is {'there' if readable(conn, 'a') else 'gone'}"


def room_for_one(database: ExploredDatabase) -> Exploration:
    """Three reserve the last room of a backend."""
    actors = {who: Actor(begin(PUT.format(who)), "commit") for who in ("one", "two", "three")}
    return explore(database.connect, actors, reset=StartState(quota=19).reset, check=within_quota)


def crossed_waits(database: ExploredDatabase) -> Exploration:
    """Two wait for two backends, each for the other's second choice, and find their first choice full.

    East has more room when the first comes, then default grows. Who still held the backend that it found
    full would now close a circle with the other.
    """
    database.conn.execute("select reaper.register_backend('east')")
    actors = {
        "a": Actor(begin(PUT.format("a")), "commit"),
        "b": Actor(PUT.format("b")),
        "c": Actor("select reaper.set_quota('default', 18, 'test')", begin(PUT.format("c")), "commit"),
        "d": Actor(PUT.format("d")),
    }

    def reset(conn: Connection) -> None:
        StartState().reset(conn)
        conn.execute("update reaper.backend_list set quota = case name when 'east' then 15 else 14 end")

    order = "a1 (b1 waits) c1 c2 (d1 waits) a2 c3"
    return explore(database.connect, actors, reset=reset, check=within_quota, only=order)


def within_quota(conn: Connection) -> list[str]:
    """All that must never be true, and quotas that are exceeded."""
    return violations(conn) + values(conn, OVERDRAWN)
