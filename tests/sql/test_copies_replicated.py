"""Content with too few good copies gets them, where there is room, and whatever happens to it meanwhile."""

import pytest

from tests.support.copy_fixtures import SHA, Copier, answer, backends, factor, fail, places, state, wants
from tests.support.paste_fixtures import accounts, column, refusals, refused, value


@pytest.fixture
def three(checked_db):
    """default, east and west, and two copies of everything."""
    backends(checked_db, "east", "west")
    factor(checked_db, 2)
    return checked_db


def owed(db):
    """What is queued for deletion: (backend, key, passes)."""
    return set(db.execute("select backend, object_key, passes_left from reaper.cleanup_queue").fetchall())


def test_a_content_that_was_put_gets_its_second_copy(three, writer, copier):
    writer.put("a", "h", size=7)
    assert wants(three) == {"h": (1, "few")}
    [task] = copier.claim_copies()
    assert (task.size_bytes, task.purpose, task.sha256, task.verify) == (7, "replicate", False, True)
    assert set(task.sources) == places(three, "h")
    assert accounts(three)[task.destination] == (0, 0, 7)
    assert copier.commit_copy(task) == "copied"
    assert places(three, "h") == {*task.sources, task.destination}
    assert accounts(three) == {task.sources[0]: (7, 0, 0), task.destination: (7, 0, 0)}
    assert wants(three) == {}
    assert value(three, "select count(*) from reaper.object_locations where verified_at is not null") == 2


def test_with_one_copy_of_each_nothing_is_looked_at_and_nothing_wanted(checked_db, writer, copier):
    backends(checked_db, "east")
    writer.put("a", "h")
    assert copier.call("sweep_copies")[0] == (0, 0, True)
    assert wants(checked_db) == {}
    assert copier.claim_copies() == []


def test_an_object_that_the_application_stored_is_written_down_with_its_copy(three, paste, copier, drain):
    paste("a", content="bare", own_key=False, size=0)
    copier.sweep()
    [task] = copier.claim_copies()
    assert (task.size_bytes, task.sources, task.source_keys) == (None, ["default"], ["bare"])
    assert copier.commit_copy(task, size=33) == "copied"
    assert accounts(three) == {"default": (33, 0, 0), task.destination: (33, 0, 0)}
    assert drain() == {"bare", task.object_key}
    assert accounts(three) == {}


def test_the_sweep_looks_window_by_window_and_again_when_something_changes(three, writer, copier, clock):
    for number in range(5):
        writer.put(f"p{number}", f"h{number}")
    three.execute("delete from reaper.copy_wants")
    windows = [tuple(copier.call("sweep_copies", 2)[0]) for _ in range(4)]
    assert windows == [(2, 2, False), (2, 2, False), (1, 1, True), (0, 0, True)]
    clock.advance("61 minutes")
    assert copier.call("sweep_copies")[0].looked_at == 5
    factor(three, 3)
    assert copier.sweep(3) == 5
    state(three, "east", "readonly")
    assert copier.call("sweep_copies")[0].looked_at == 5


CONTENTS = """
    insert into content (content_hash, ref_count, size_bytes, object_key)
    select %(name)s || i, 0, %(size)s, %(name)s || i from generate_series(1, %(number)s) as i
"""


@pytest.fixture
def crowded(three):
    """Fifty contents that fit nowhere are wanted longer than a thousand that fit."""
    for name in ("default", "east", "west"):
        three.execute("select reaper.set_quota(%s, 100000, 'a test')", [name])
    three.execute(CONTENTS, {"name": "big", "size": 200_000, "number": 50})
    Copier(three).sweep()
    three.execute("update reaper.copy_wants set next_attempt = next_attempt - interval '1 hour'")
    three.execute(CONTENTS, {"name": "small", "size": 10, "number": 1000})
    three.execute("update reaper.copy_sweep set fingerprint = ''")
    Copier(three).sweep()
    assert len(wants(three)) == 1050
    return three


def test_fifty_contents_that_fit_nowhere_do_not_delay_a_thousand_that_fit(crowded, copier):
    made = []
    while tasks := copier.claim_copies(100):
        assert len(tasks) == 100
        made += [task.content_hash for task in tasks]
    assert sorted(made) == sorted(f"small{number}" for number in range(1, 1001))
    assert copier.call("copies_are_due") == [(False,)]
    unplaced = "select count(*) from reaper.copy_wants where starts_with(last_error, 'no active')"
    assert value(crowded, unplaced) == 50
    [reason] = [r for r in value(crowded, "select reaper.attention_reasons()") if "could not be made" in r]
    assert reason.startswith("50 contents want a copy that could not be made")


def test_a_claim_that_found_only_what_fits_nowhere_says_that_more_is_due(crowded, copier):
    assert copier.claim_copies(4) == []
    assert copier.call("copies_are_due") == [(True,)]
    assert len(copier.claim_copies(4)) == 4
    fail(crowded, "east", "west")
    assert copier.call("copies_are_due") == [(False,)]


def test_a_place_that_refuses_is_not_the_only_one_that_is_tried(three, writer, copier, clock):
    """A backend that is full without a quota answers, and refuses what is to be stored there."""
    writer.put("a", "h")
    tried = set()
    for _ in range(12):
        [task] = copier.claim_copies()
        tried.add(task.destination)
        assert copier.fail_copy(task, "507: the disk is full", uploaded=False)
        clock.advance("2 hours")
    assert tried == {"default", "east", "west"} - places(three, "h")


def test_intents_reserve_what_fits_under_the_quotas_together(three, writer, copier):
    three.execute("select reaper.set_quota('east', 25, 'a test'), reaper.set_quota('west', 15, 'a test')")
    for number in range(5):
        writer.put(f"p{number}", f"h{number}")
    tasks = copier.claim_copies()
    assert sorted(task.destination for task in tasks) == ["east", "east", "west"]
    assert accounts(three)["east"] == (0, 0, 20)
    assert [copier.fail_copy(task) for task in tasks] == [True] * 3
    assert accounts(three)["east"] == (0, 20, 0)
    assert {passes for _, _, passes in owed(three)} == {2}


def test_a_copy_of_content_that_is_gone_is_deleted(three, writer, copier, drain, clock):
    writer.put("a", "h")
    [task] = copier.claim_copies()
    clock.advance("2 days")
    drain()
    assert wants(three) == {}
    assert copier.commit_copy(task) == "content_gone"
    assert owed(three) == {(task.destination, task.object_key, 2)}
    assert accounts(three) == {task.destination: (0, 10, 0)}


def test_content_that_was_stored_again_meanwhile_gets_the_copy(three, writer, copier, drain, clock):
    writer.put("a", "h")
    [task] = copier.claim_copies()
    clock.advance("2 days")
    drain()
    writer.put("b", "h", expires="9 days")
    [home] = places(three, "h")
    assert copier.commit_copy(task) == ("copied" if task.destination != home else "not_needed")


def test_a_lease_that_is_lost_changes_nothing(three, writer, copier, clock):
    writer.put("a", "h")
    [task] = copier.claim_copies()
    assert copier.call("drop_stale_copies")[0].drop_stale_copies == 0
    assert copier.call("extend_copies", task.lease)[0].extend_copies == 1
    clock.advance("3 minutes 1 second")
    assert copier.call("drop_stale_copies")[0].drop_stale_copies == 1
    before = refusals(three)
    with refused("RP001", "is no longer held"):
        copier.commit_copy(task)
    assert refusals(three) == before + 1
    assert copier.fail_copy(task) is False
    assert owed(three) == {(task.destination, task.object_key, 2)}
    [again] = copier.claim_copies()
    assert again.object_key != task.object_key
    assert copier.commit_copy(again) == "copied"


def test_a_batch_of_copies_has_an_outcome_for_each(three, writer, copier, drain, clock):
    for code, expires in (("a", "9 days"), ("b", "9 days"), ("c", "1 day"), ("d", "9 days")):
        writer.put(code, f"h{code}", expires=expires)
    tasks = {task.content_hash: task for task in copier.claim_copies()}
    three.execute("delete from reaper.copy_intents where content_hash = 'hd'")
    three.execute(
        "insert into reaper.byte_deltas (backend, reserved_bytes) values (%s, -10)", [tasks["hd"].destination]
    )
    clock.advance("2 days")
    drain()
    ordered = [tasks[name] for name in ("hd", "hc", "hb", "ha")]
    rows = copier.call(
        "commit_copies",
        ordered[0].lease,
        [task.intent_id for task in ordered],
        [task.sources[0] for task in ordered],
        [10, 10, 11, 10],
        [None] * 4,
        [True] * 4,
    )
    outcomes = {row.intent_id: row.outcome for row in rows}
    assert [outcomes[task.intent_id] for task in ordered] == [
        "lease_lost",
        "content_gone",
        "wrong_bytes",
        "copied",
    ]
    assert wants(three).keys() == {"hb", "hd"}


def test_bytes_with_another_digest_are_refused_and_good_ones_verify_their_source(three, writer, copier):
    writer.put("a", SHA)
    three.execute("update reaper.object_locations set verified_at = null")
    [task] = copier.claim_copies()
    assert task.sha256
    with refused("RP005", "are not those of the content"):
        copier.commit_copy(task, sha256="cd" * 32)
    assert copier.commit_copy(task, sha256=SHA.upper(), verified=False) == "copied"
    verified = "select backend from reaper.object_locations where verified_at is not null"
    assert set(column(three, verified)) == set(task.sources)


def test_a_bad_copy_is_replaced_by_a_good_one_and_never_before(three, writer, copier):
    writer.put("a", "h")
    copier.replicate()
    [key] = column(three, "select object_key from content")
    [home] = column(three, "select backend from reaper.object_locations where object_key = %s", key)
    assert copier.report("h", home, "another key", "corrupt") == "gone"
    assert copier.report("h", home, key, "corrupt") == "recorded"
    assert copier.report("h", home, key, "corrupt") == "known"
    assert column(three, "select backend from reaper.copies_of('h')")[-1] == home
    assert wants(three) == {"h": (1, "corrupt")}
    [task] = copier.claim_copies()
    assert (task.purpose, task.destination) == ("repair", home)
    with refused("RP005"):
        copier.commit_copy(task, verified=False)
    assert copier.commit_copy(task) == "repaired"
    assert column(three, "select object_key from content") == [task.object_key]
    assert owed(three) == {(home, key, 1)}
    assert len(places(three, "h")) == 2


def test_a_sole_bad_copy_is_named_and_kept_until_a_put_brings_its_bytes(three, writer, copier, invariants):
    factor(three, 1)
    writer.put("a", "h")
    [(home, key)] = three.execute("select backend, object_key from reaper.object_locations").fetchall()
    copier.report("h", home, key, "missing")
    assert wants(three) == {"h": (0, "missing")}
    assert any("no good copy left" in reason for reason in value(three, "select reaper.attention_reasons()"))
    assert copier.claim_copies() == []
    assert copier.claim_excess() == []
    assert places(three, "h") == {f"{home}?"}
    intent = writer.begin("b", "h")
    assert intent.upload_required
    with refused("RP002", "no good copy"):
        writer.commit(intent.intent_id, uploaded=False)
    assert writer.commit(intent.intent_id) == (intent.backend, intent.object_key, True)
    assert invariants() == []
    assert writer.get("a").object_key == intent.object_key
    assert wants(three) == {}
    copier.remove_excess()
    assert places(three, "h") == {intent.backend}
    assert copier.report("h", intent.backend, intent.object_key, None) == "known"


def test_copies_on_a_backend_that_fails_for_long_are_made_again_elsewhere(three, writer, copier, clock):
    for number in range(12):
        writer.put(f"p{number}", f"h{number}")
    copier.replicate()
    fail(three, "west")
    clock.advance("9 minutes")
    assert copier.replicate() == []
    clock.advance("2 minutes")
    hurt = set(column(three, "select content_hash from reaper.object_locations where backend = 'west'"))
    assert copier.replicate() == ["copied"] * len(hurt)
    assert hurt
    for content in hurt:
        assert places(three, content) == {"default", "east", "west"}
    assert copier.remove_excess() == []
    answer(three, "west")
    clock.advance("6 minutes")
    copier.sweep()
    assert copier.remove_excess() == ["removed"] * len(hurt)
    for number in range(12):
        assert len(places(three, f"h{number}")) == 2


def test_while_most_backends_fail_nothing_is_copied(three, writer, copier, clock):
    writer.put("a", "h")
    fail(three, "east", "west")
    clock.advance("1 hour")
    copier.sweep()
    assert copier.claim_copies() == []
    assert value(three, "select count(*) from reaper.copy_intents") == 0


def test_probes_do_not_move_since_when_a_backend_fails(three, clock):
    fail(three, "west")
    since = value(three, "select failing_since from reaper.circuits")
    clock.advance("1 hour")
    probe = value(three, "select reaper.claim_probe('west')")
    three.execute("select reaper.finish_probe('west', %s, 'no answer')", [probe])
    assert value(three, "select failing_since from reaper.backends where name = 'west'") == since
    answer(three, "west")
    assert value(three, "select failing_since from reaper.backends where name = 'west'") is None


def test_readers_get_good_copies_on_answering_backends_first_and_drained_ones_last(three, writer, copier):
    factor(three, 3)
    writer.put("a", "h")
    copier.replicate()
    state(three, "default", "draining")
    assert column(three, "select backend from reaper.copies_of('h')") == ["east", "west", "default"]
    fail(three, "east")
    assert column(three, "select backend from reaper.copies_of('h')") == ["west", "default", "east"]
    key = value(three, "select object_key from reaper.object_locations where backend = 'west'")
    copier.report("h", "west", key, "corrupt")
    assert column(three, "select backend from reaper.copies_of('h')") == ["default", "east", "west"]
    assert writer.get("a").backend == "default"


def test_what_is_known_of_a_contents_copies_is_told(three, writer, copier):
    writer.put("a", "h")
    [task] = copier.claim_copies()
    assert [row[0] for row in three.execute("select * from reaper.copies_detail('h')")] == [
        "copy",
        "in progress",
        "wanted",
    ]
    assert (task.destination, task.object_key, 10, "copy begun") in three.execute(
        "select * from reaper.objects_of_subject('a')"
    ).fetchall()
    known = "select place from reaper.known_objects(%s, %s)"
    assert value(three, known, task.destination, [task.object_key]) == "copy_intent"
    [verdict] = column(three, "select detail from reaper.why('h') where event = 'now'")
    assert "in progress on" in verdict
    copier.commit_copy(task)
    [verdict] = column(three, "select detail from reaper.why('h') where event = 'now'")
    assert "2 copies: good on" in verdict
