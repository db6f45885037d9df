"""The pending reaper's hands: intents whose writer is overdue are leased fairly, and committed or dropped."""

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.support.paste_fixtures import Worker, codes, column, record, refs, refusals, refused, value
from tests.support.writer_fixtures import Bytes, Owed, Writer, accounts, owed

SHA = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


@pytest.fixture
def overdue(me: Worker) -> Callable[..., UUID]:
    """Begins a put whose writer is never heard of again; its time comes with the next move of the clock."""

    def begin(code: str = "a", content: str = "h", expires: str | None = None) -> UUID:
        intent: UUID = Writer(me.connection).begin(code, content, expires=expires).intent_id
        return intent

    return begin


def claimed(me: Worker, limit: int = 100) -> dict[str, Any]:
    """The leased intents by code."""
    return {intent.short_code: intent for intent in me.call("claim_intents", limit)}


def resolve(
    me: Worker, intent: Any, found: bool = True, size: int | None = 10, sha: str | None = None
) -> str:
    return str(me.call("finish_intent", intent.intent_id, intent.lease, found, size, sha)[0].finish_intent)


def test_an_intent_is_left_alone_until_it_is_older_than_the_setting(me, overdue, clock):
    overdue()
    assert claimed(me) == {}
    clock.advance("14 minutes 50 seconds")
    assert claimed(me) == {}
    clock.advance("10 seconds")
    assert set(claimed(me)) == {"a"}


def test_a_setting_that_grew_holds_for_intents_that_had_begun(db, me, overdue, clock):
    overdue()
    db.execute("update reaper.settings set intent_min_age = '1 day'")
    clock.advance("1 hour")
    assert claimed(me) == {}
    clock.advance("1 day")
    assert set(claimed(me)) == {"a"}


def test_the_claim_says_all_that_is_needed_to_look(db, me, overdue, clock):
    intent = overdue("a", "h", "1 day")
    clock.advance("1 hour")
    [row] = me.call("claim_intents")
    stored = record(db, "select * from reaper.put_intents")
    assert row.intent_id == intent
    assert row.lease == stored.lease
    for name in ("short_code", "content_hash", "size_bytes", "expires_at", "backend", "object_key"):
        assert getattr(row, name) == getattr(stored, name)
    assert row.upload_required is True


def test_a_leased_intent_comes_due_again_when_its_holder_died(me, overdue, clock):
    overdue()
    clock.advance("1 hour")
    first = claimed(me)["a"]
    assert claimed(me) == {}
    clock.advance("5 minutes")
    second = claimed(me)["a"]
    with refused("RP001", "no longer held") as caught:
        resolve(me, first)
    assert caught.value.diag.message_hint
    assert refusals(me.connection) == 1
    assert resolve(me, second) == "committed"


def test_two_claims_at_once_share_no_intent(db, me, worker, overdue, clock):
    for n in range(6):
        overdue(f"c{n}")
    clock.advance("1 hour")
    with db.transaction():
        mine = set(claimed(me, 4))
        others = set(claimed(worker("other"), 4))
    assert len(mine) == 4
    assert mine & others == set()


def test_backends_take_turns(db, me, overdue, clock):
    for name in ("default", "east", "west"):
        me.call("register_backend", name)
        db.execute(
            "update reaper.backend_list set state = case name when %s then 'active' else 'readonly' end",
            [name],
        )
        for n in range({"default": 8, "east": 2, "west": 1}[name]):
            overdue(f"{name}{n}")
    clock.advance("1 hour")
    share = [intent.backend for intent in me.call("claim_intents", 6)]
    assert sorted(share) == ["default", "default", "default", "east", "east", "west"]
    rest = [intent.backend for intent in me.call("claim_intents", 6)]
    assert rest == ["default"] * 5


@pytest.mark.parametrize("state", ["open", "half_open"])
def test_a_backend_that_does_not_answer_is_left_out_and_keeps_nobody_waiting(db, me, overdue, clock, state):
    overdue("sick")
    me.call("register_backend", "east")
    db.execute("update reaper.backend_list set state = 'readonly' where name = 'default'")
    overdue("well")
    db.execute(
        "insert into reaper.circuits (backend, state, changed_at, retry_at, probe, probe_started_at)"
        " select 'default', s, now(), now(), p, case when p is not null then now() end"
        "   from (select %s::text as s, case %s when 'half_open' then gen_random_uuid() end as p) as c",
        [state, state],
    )
    clock.advance("1 hour")
    assert set(claimed(me)) == {"well"}
    me.call("record_backend_success", "default")
    assert set(claimed(me)) == {"sick"}


@pytest.mark.parametrize("limit", [0, 10_001, None])
def test_a_limit_that_makes_no_sense_is_refused(me, limit):
    with refused("RP005"):
        me.call("claim_intents", limit)


def test_bytes_that_are_there_and_whole_become_the_paste(db, me, overdue, clock):
    overdue("a", SHA)
    clock.advance("1 hour")
    intent = claimed(me)["a"]
    assert accounts(db) == Bytes(reserved=10)
    assert resolve(me, intent, sha=SHA.upper()) == "committed"
    assert me.call("get_paste", "a")[0].object_key == intent.object_key
    assert accounts(db) == Bytes(used=10)
    assert owed(db) == []


def test_bytes_of_content_that_came_meanwhile_are_queued_and_the_paste_is_made(db, me, overdue, clock):
    overdue("a")
    other = me.call("begin_put", "b", "h", 10)[0]
    me.call("commit_put", other.intent_id, True)
    clock.advance("1 hour")
    intent = claimed(me)["a"]
    assert resolve(me, intent) == "committed"
    assert refs(db, "h") == 2
    assert owed(db) == [Owed(intent.object_key, 10, passes_left=1, delay=0)]
    assert accounts(db) == Bytes(used=10, orphan=10)


WRONG = {
    "absent": {"found": False, "size": None},
    "not said": {"found": None},
    "shorter": {"size": 9},
    "of unknown size": {"size": None},
    "of another hash": {"sha": SHA.replace("9", "8")},
    "of unknown hash": {"sha": None},
}


@pytest.mark.parametrize("what", WRONG.values(), ids=WRONG)
def test_what_is_not_there_or_not_whole_is_dropped_and_leaves_no_bytes_behind(db, me, overdue, clock, what):
    overdue("a", SHA)
    clock.advance("1 hour")
    intent = claimed(me)["a"]
    assert resolve(me, intent, **{"sha": SHA, **what}) == "dropped"
    assert codes(db) == set()
    # A slow upload may still land: the key is deleted later, and twice.
    assert owed(db) == [Owed(intent.object_key, 10, passes_left=2, delay=900)]
    assert accounts(db) == Bytes(orphan=10)


def test_other_hashes_than_sha256_are_not_compared(me, overdue, clock):
    overdue("a", "md5:1234")
    clock.advance("1 hour")
    assert resolve(me, claimed(me)["a"], sha=SHA) == "committed"


def test_a_paste_that_would_be_over_already_is_not_made(db, me, overdue, clock):
    overdue("a", expires="30 minutes")
    clock.advance("1 hour")
    assert resolve(me, claimed(me)["a"]) == "dropped"
    assert codes(db) == set()


def test_a_code_that_was_taken_meanwhile_keeps_its_paste(db, me, paste, overdue, clock):
    overdue("a")
    paste("a", content="other", expires="1 day")
    clock.advance("1 hour")
    intent = claimed(me)["a"]
    assert resolve(me, intent) == "dropped"
    assert column(db, "select content_hash from pastes") == ["other"]
    assert refs(db, "h") is None
    assert owed(db) == [Owed(intent.object_key, 10, passes_left=2, delay=900)]


def test_a_code_that_is_being_taken_is_waited_for(db, me, connect, overdue, clock):
    overdue("a")
    clock.advance("1 hour")
    intent = claimed(me)["a"]
    db.execute("insert into content (content_hash, ref_count) values ('other', 1)")
    with connect(autocommit=False) as writer:
        writer.execute("insert into pastes (short_code, content_hash) values ('a', 'other')")
        with refused("55P03"):
            resolve(me, intent)
        assert value(db, "select lease from reaper.put_intents") == intent.lease
    assert resolve(me, intent) == "dropped"


def test_intents_are_dropped_where_the_setting_says_so(db, me, overdue, clock):
    overdue("a")
    db.execute("update reaper.settings set pending_action = 'drop'")
    clock.advance("1 hour")
    assert resolve(me, claimed(me)["a"]) == "dropped"
    assert codes(db) == set()


def test_an_intent_without_room_is_not_made_into_content(db, me, overdue, clock):
    db.execute("insert into content (content_hash, ref_count) values ('h', 0)")
    db.execute("update reaper.backend_list set quota = 5")
    overdue("a")
    db.execute("delete from content")
    clock.advance("1 hour")
    intent = claimed(me)["a"]
    assert not intent.upload_required
    assert resolve(me, intent) == "dropped"
    # How much lies there nobody knows: it had no leave to be uploaded.
    assert owed(db) == [Owed(intent.object_key, None, passes_left=2, delay=900)]
    assert accounts(db) == Bytes()


def test_a_right_that_is_missing_drops_nothing(db, me, overdue, clock):
    overdue("a")
    clock.advance("1 hour")
    intent = claimed(me)["a"]
    db.execute("revoke insert on pastes from reaper_owner")
    with refused("42501"):
        resolve(me, intent)
    db.execute("grant insert on pastes to reaper_owner")
    assert resolve(me, intent) == "committed"


def test_what_its_writer_settled_meanwhile_is_gone(db, me, overdue, clock):
    committed, aborted = overdue("a"), overdue("b")
    clock.advance("1 hour")
    intents = claimed(me)
    me.call("commit_put", committed, True)
    me.call("abort_put", aborted)
    before = owed(db)
    assert resolve(me, intents["a"], found=False) == "gone"
    assert resolve(me, intents["b"]) == "gone"
    assert codes(db) == {"a"}
    assert owed(db) == before


def test_what_was_resolved_is_gone_for_its_writer_and_for_who_resolves_it_again(me, overdue, clock):
    first, second = overdue("a"), overdue("b", "other")
    clock.advance("1 hour")
    intents = claimed(me)
    resolve(me, intents["a"])
    resolve(me, intents["b"], found=False)
    for intent in (first, second):
        with refused("RP003", "does not exist"):
            me.call("commit_put", intent, True)
    assert resolve(me, intents["a"]) == "gone"


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_outside_read_committed_nothing_is_resolved(me, connect, overdue, clock, isolation):
    overdue()
    clock.advance("1 hour")
    intent = claimed(me)["a"]
    other = connect(options=f"-c default_transaction_isolation={isolation.replace(' ', chr(92) + ' ')}")
    with refused("RP006"):
        resolve(Worker(other), intent)
    assert resolve(me, intent) == "committed"


def test_an_intent_whose_backend_did_not_answer_is_looked_at_again_soon(db, me, overdue, clock):
    overdue()
    clock.advance("1 hour")
    for attempt in range(1, 8):
        intent = claimed(me)["a"]
        assert me.call("return_intent", intent.intent_id, intent.lease, "timeout")[0].return_intent is True
        row = record(
            db,
            "select attempts, last_error, lease, next_attempt - reaper.clock() as pause"
            "  from reaper.put_intents",
        )
        assert (row.attempts, row.last_error, row.lease) == (attempt, "timeout", None)
        assert claimed(me) == {}
        assert 40 < row.pause.total_seconds() <= 600
        clock.advance("10 minutes")
    assert resolve(me, claimed(me)["a"]) == "committed"


def test_only_who_holds_the_lease_can_defer(me, overdue, clock):
    intent = overdue()
    clock.advance("1 hour")
    held = claimed(me)["a"]
    for lease in (uuid4(), None):
        with refused("RP001"):
            me.call("return_intent", intent, lease, "late")
    me.call("abort_put", intent)
    assert me.call("return_intent", intent, held.lease, "late")[0].return_intent is False


def test_the_claim_walks_past_no_other_backend(db, me, overdue, clock):
    """The pile of a sick backend is not even read."""
    overdue("sick")
    db.execute(
        "insert into reaper.put_intents (intent_id, short_code, content_hash, size_bytes, backend,"
        "                                object_key, upload_required, reserved, begun_at, next_attempt)"
        " select gen_random_uuid(), n::text, 'h', 0, 'default', n::text, true, false, now(), now()"
        "   from generate_series(1, 20000) as n"
    )
    me.call("register_backend", "east")
    db.execute("update reaper.backend_list set state = 'readonly' where name = 'default'")
    for n in range(3):
        overdue(f"well{n}")
    for _ in range(5):
        me.call("record_backend_failure", "default", "away")
    for _ in range(2):  # the second time the catalogue is known
        clock.advance("1 hour")
        explained = db.execute("explain (analyze, buffers, format json) select reaper.claim_intents(100)")
        plan = explained.fetchone()[0][0]["Plan"]
        assert plan["Actual Rows"] == 3
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < 100
    db.execute("delete from reaper.put_intents where object_key ~ '^[0-9]+$'")
