"""Buckets compared with rows: what is recorded, deleted and taken in."""

from tests.support.mutants.mutant import mutant
from tests.support.mutants.scene import Scene

HASH = "a" * 64
DAY = "1 day 1 second"
LISTED = """
select reaper.record_listed('default', pass, after_key, null, %s, %s, %s, %s, %s, %s)
  from reaper.begin_reconciliation('{default}')
"""
RETIRE = "select reaper.retire_untracked('default', %s)"
SETTLE = "select queued from reaper.finish_untracked()"


def walk(scene: Scene, *unknown: str, missing: int = 0, expected: int = 1000, listed: int = 1000) -> str:
    """A pass in one window that found these objects, of ten bytes each, and missed others."""
    lost = [f"lost {n:03}" for n in range(missing)]
    sizes = [10] * len(unknown)
    phase = scene.value(LISTED, listed, expected, lost, lost, list(unknown), sizes)
    if phase == "settling":
        scene.db.execute("select reaper.finish_reconciliation(backend, pass) from reaper.reconciliations")
    return str(phase)


def seen_for_a_day(scene: Scene, *keys: str) -> None:
    """Objects without a row, seen today and tomorrow."""
    scene.db.execute("update reaper.settings set content_digest = 'sha256'")
    walk(scene, *keys)
    scene.clock.advance(DAY)
    walk(scene, *keys)


def imported(scene: Scene, key: str, size: int = 10, content: str = HASH) -> str:
    return str(scene.value("select reaper.import_object('default', %s, %s, %s)", key, content, size))


def settled(scene: Scene) -> int:
    """How many are queued, with transactions of others that have ended since."""
    scene.value(SETTLE)
    scene.db.execute("update reaper.sightings set barrier = '1' where retired_at is not null")
    return int(scene.value(SETTLE))


def what_was_seen_for_a_day_is_deleted_and_younger_is_not(scene: Scene) -> None:
    seen_for_a_day(scene, "old")
    walk(scene, "old", "young")
    assert scene.value(RETIRE, ["old", "young", "never seen"]) == 1
    assert settled(scene) == 1
    assert scene.queued() == ["old"]
    scene.all_is_well()


def an_object_of_another_size_is_another_object(scene: Scene) -> None:
    walk(scene, "old")
    scene.clock.advance(DAY)
    scene.db.execute("update reaper.sightings set size_bytes = 11")
    walk(scene, "old")
    assert scene.value(RETIRE, ["old"]) == 0


def what_is_gone_is_forgotten(scene: Scene) -> None:
    seen_for_a_day(scene, "old")
    walk(scene)
    assert scene.value("select count(*) from reaper.sightings") == 0


def a_name_that_content_took_is_not_deleted(scene: Scene) -> None:
    seen_for_a_day(scene, HASH)
    scene.value(RETIRE, [HASH])
    # As if its transaction had not seen the retirement.
    scene.db.execute("alter table content disable trigger user")
    scene.db.execute("insert into content (content_hash, ref_count) values (%s, 0)", [HASH])
    scene.db.execute("alter table content enable trigger user")
    assert settled(scene) == 0
    assert scene.queued() == []
    scene.all_is_well()


def a_known_name_is_not_retired(scene: Scene) -> None:
    seen_for_a_day(scene, HASH)
    scene.db.execute("insert into content (content_hash, ref_count) values (%s, 0)", [HASH])
    assert scene.value(RETIRE, [HASH]) == 0


def a_retired_name_is_taken_by_no_new_content(scene: Scene) -> None:
    seen_for_a_day(scene, HASH)
    scene.value(RETIRE, [HASH])
    scene.all_is_well()
    with scene.refusal("RP004"):
        scene.db.execute("insert into content (content_hash, ref_count) values (%s, 0)", [HASH])


def nothing_is_queued_while_its_own_transaction_may_name_it(scene: Scene) -> None:
    seen_for_a_day(scene, "old")
    scene.value(RETIRE, ["old"])
    # The play is one transaction, which is open: it is older than the barrier.
    assert [scene.value(SETTLE) for _ in range(3)] == [0, 0, 0]


def too_many_missing_objects_stop_a_pass(scene: Scene) -> None:
    assert walk(scene, "unknown", missing=51) == "braked"
    assert scene.value("select count(*) from reaper.suspects") == 0
    assert scene.value("select count(*) from reaper.sightings") == 0
    assert walk(scene, missing=49) == "settling"
    assert scene.value("select count(*) from reaper.suspects") == 49


def what_the_scrubber_missed_is_decided_by_the_pass(scene: Scene) -> None:
    late = "insert into reaper.suspects values ('default', 'lost 000', 'h', reaper.clock(), 'infinity', null)"
    scene.db.execute(late)
    walk(scene, missing=1)
    assert scene.value("select next_attempt <= reaper.clock() from reaper.suspects")


def an_empty_bucket_stops_a_pass(scene: Scene) -> None:
    assert walk(scene, missing=3, expected=3, listed=0) == "braked"


def too_many_corrupt_copies_stop_a_run(scene: Scene) -> None:
    assert scene.value("select reaper.scrub_brake('default', 1000, 51)") is not None
    assert scene.value("select reaper.scrub_brake('default', 1000, 49)") is None


def a_copy_is_missing_only_after_a_second_look(scene: Scene) -> None:
    key = scene.stored()
    look = "select reaper.suspect_missing('h', 'default', %s)"
    trouble = "select trouble from reaper.object_locations"
    assert [scene.value(look, key) for _ in range(3)] == ["suspected"] * 3
    assert scene.value(trouble) is None
    scene.clock.advance("15 minutes")
    scene.value(look, key)
    assert scene.value(trouble) == "missing"


def only_the_copy_that_was_read_is_verified(scene: Scene) -> None:
    key = scene.stored()
    scene.db.execute("update reaper.object_locations set verified_at = null")
    verify = "select reaper.record_verified('default', '{h}', array[%s])"
    assert scene.value(verify, "another key") == 0
    assert scene.value(verify, key) == 1


def what_is_imported_is_in_the_accounts_and_is_not_imported_twice(scene: Scene) -> None:
    seen_for_a_day(scene, "first", "second")
    walk(scene, "first", "second", "young")
    assert imported(scene, "young") == "gone"
    assert imported(scene, "first", size=11) == "gone"
    assert imported(scene, "first") == "imported"
    assert imported(scene, "second") == "refused"
    scene.all_is_well()


def a_pass_that_another_process_went_on_with_is_left_to_it(scene: Scene) -> None:
    old = scene.value("select pass from reaper.begin_reconciliation('{default}')")
    walk(scene)
    walk(scene)
    with scene.refusal("RP001"):
        scene.db.execute(
            "select reaper.record_listed('default', %s, '', null, 0, 0, '{}', '{}', '{}', '{}')", [old]
        )


def an_upload_that_an_intent_holds_is_named(scene: Scene) -> None:
    put = scene.writer.begin("a", "h")
    held = "select count(*) from reaper.held_uploads('default', array[%s], '{one}')"
    assert scene.value(held, put.object_key) == 1
    scene.db.execute("select reaper.record_put_upload(%s, 'another')", [put.intent_id])
    assert scene.value(held, put.object_key) == 0
    assert scene.value(held, "no such key") == 0


MUTANTS = [
    mutant(
        "the age of a sighting is not asked",
        what_was_seen_for_a_day_is_deleted_and_younger_is_not,
        function="retire_untracked",
        replace="and s.first_seen <= v_now - p_older_than and s.last_seen >= s.first_seen + interval '1 day'",
    ),
    mutant(
        "another object inherits the age of one with its name",
        an_object_of_another_size_is_another_object,
        function="record_listed",
        replace="case when s.size_bytes = excluded.size_bytes then s.first_seen else excluded.first_seen end",
        by="s.first_seen",
    ),
    mutant(
        "sightings of what is gone are kept",
        what_is_gone_is_forgotten,
        function="record_listed",
        replace="delete from reaper.sightings s…;",
    ),
    mutant(
        "it is not looked again before an untracked object is queued",
        a_name_that_content_took_is_not_deleted,
        function="finish_untracked",
        replace="where g.backend || '/' || g.object_key <> all (v_used)",
    ),
    mutant(
        "a known name is retired",
        a_known_name_is_not_retired,
        function="retire_untracked",
        replace="where k.object_key not in (select …v_keys) as o)",
    ),
    mutant(
        "the name is not retired",
        a_retired_name_is_taken_by_no_new_content,
        function="retire_untracked",
        replace="insert into reaper.retired_keys…;",
    ),
    mutant(
        "open transactions are not waited for",
        nothing_is_queued_while_its_own_transaction_may_name_it,
        function="finish_untracked",
        replace="and s.barrier < pg_snapshot_xmin(pg_current_snapshot())",
    ),
    mutant(
        "the brake for missing objects is off",
        too_many_missing_objects_stop_a_pass,
        function="missing_brake_reason",
        replace="p_pass.missing >= 50",
        by="false",
    ),
    mutant(
        "an empty bucket does not stop a pass",
        an_empty_bucket_stops_a_pass,
        function="missing_brake_reason",
        replace="p_is_last and p_pass.listed = 0",
        by="false",
    ),
    mutant(
        "a pass waits for the time at which the scrubber would look",
        what_the_scrubber_missed_is_decided_by_the_pass,
        function="record_listed",
        replace="least(s.next_attempt, excluded.next_attempt)",
        by="s.next_attempt",
    ),
    mutant(
        "the brake for corrupt copies is off",
        too_many_corrupt_copies_stop_a_run,
        function="scrub_brake",
        replace="f.bad >= 50",
        by="false",
    ),
    mutant(
        "there is no second look",
        a_copy_is_missing_only_after_a_second_look,
        function="suspect_missing",
        replace="v_suspect.next_attempt > v_now",
        by="false",
    ),
    mutant(
        "the key of a copy is not compared",
        only_the_copy_that_was_read_is_verified,
        function="record_verified",
        replace="and l.object_key = v.object_key",
    ),
    mutant(
        "the age of an object is not asked before its import",
        what_is_imported_is_in_the_accounts_and_is_not_imported_twice,
        function="import_object",
        replace="and s.first_seen <= v_now - interval '1 day'"
        " and s.last_seen >= s.first_seen + interval '1 day'",
    ),
    mutant(
        "the size of an object is not asked before its import",
        what_is_imported_is_in_the_accounts_and_is_not_imported_twice,
        function="import_object",
        replace="and s.size_bytes = p_size_bytes",
    ),
    mutant(
        "imported bytes are not booked",
        what_is_imported_is_in_the_accounts_and_is_not_imported_twice,
        function="import_object",
        replace="perform reaper_internal.add_bytes(p_backend, p_used => p_size_bytes);",
    ),
    mutant(
        "a pass is not fenced",
        a_pass_that_another_process_went_on_with_is_left_to_it,
        function="lock_pass",
        replace="v_pass.pass is distinct from p_pass or v_pass.phase <> p_phase or (…)",
        by="false",
    ),
    mutant(
        "uploads of puts are not held",
        an_upload_that_an_intent_holds_is_named,
        function="held_uploads",
        replace="i.backend = p_backend and i.object_key = u.object_key",
        by="false",
    ),
]
