"""The watchdog takes from the dead and leaves the living alone."""

from tests.support.mutants.mutant import Edit, Mutant, mutant
from tests.support.mutants.scene import Scene


def a_zombie_settles_nothing(scene: Scene) -> None:
    scene.due("a")
    batch = scene.me.claim()
    scene.clock.advance("3 hours")
    scene.me.call("reset_stuck")
    with scene.refusal("RP001"):
        scene.me.drop(batch)
    assert (scene.codes(), scene.marked()) == (["a"], [])


def who_was_replaced_settles_nothing(scene: Scene) -> None:
    scene.me.heartbeat()
    batch = scene.released("a")
    scene.clock.advance("2 minutes")
    scene.me.call("reset_stuck")
    assert scene.me.adopt() is not None
    with scene.refusal("RP001"):
        scene.me.finish(batch)


def what_was_released_is_never_given_back(scene: Scene) -> None:
    scene.me.heartbeat()
    scene.released("a")
    scene.clock.advance("3 hours")
    scene.me.call("reset_stuck")
    assert scene.adopted() == ["key of of a"]
    scene.all_is_well()


def who_lives_keeps_its_claim(scene: Scene) -> None:
    scene.due("a")
    scene.me.heartbeat()
    batch = scene.me.claim()
    scene.clock.advance("30 seconds")
    assert scene.me.call("reset_stuck")[0].batches_reset == 0
    scene.me.drop(batch)


def who_lives_keeps_what_it_released(scene: Scene) -> None:
    scene.me.heartbeat()
    batch = scene.released("a")
    scene.clock.advance("30 seconds")
    scene.me.call("reset_stuck")
    assert scene.me.adopt() is None
    scene.me.finish(batch)


def who_never_had_a_heartbeat_loses_its_claim_in_time(scene: Scene) -> None:
    scene.due("a")
    scene.me.claim()
    scene.clock.advance("3 hours")
    assert scene.me.call("reset_stuck")[0].rows_reset == 1
    scene.all_is_well()


def who_falls_silent_loses_its_claim(scene: Scene) -> None:
    scene.due("a")
    scene.me.heartbeat()
    scene.me.claim()
    scene.clock.advance("2 minutes")
    assert scene.me.call("reset_stuck")[0].rows_reset == 1
    assert scene.marked() == []


def a_mark_without_a_batch_is_taken_off(scene: Scene) -> None:
    scene.due("a")
    scene.db.execute("update pastes set deletion_status = 'DELETION_IN_PROGRESS'")
    scene.clock.advance("3 hours")
    scene.me.call("reset_stuck")
    assert scene.marked() == []


def a_mark_that_belongs_to_a_batch_stays(scene: Scene) -> None:
    scene.due("a")
    scene.me.claim()
    scene.clock.advance("3 hours")
    scene.me.call("reset_strays")
    assert scene.marked() == ["a"]


def what_is_only_claimed_is_not_adopted(scene: Scene) -> None:
    scene.due("a")
    scene.me.claim()
    scene.db.execute("update reaper.batches set worker = null")
    assert scene.me.adopt() is None


def what_a_worker_knows_of_is_not_taken_from_it(scene: Scene) -> None:
    scene.due("a")
    batch = scene.me.claim()
    assert scene.me.call("return_unknown_batches", "me", [batch])[0].return_unknown_batches == 0
    scene.me.drop(batch)


MUTANTS = [
    mutant(
        "a token that is gone is taken",
        a_zombie_settles_nothing,
        function="lock_batch",
        replace="not found or",
    ),
    Mutant(
        "released batches are given back",
        what_was_released_is_never_given_back,
        (
            Edit(
                function="reset_stuck",
                replace="b.state = 'CLAIMED' and",
            ),
            Edit(function="return_batch", replace="'{CLAIMED}'", by="'{CLAIMED,RELEASED}'"),
        ),
    ),
    mutant(
        "claims are taken from the living",
        who_lives_keeps_its_claim,
        function="reset_stuck",
        replace="is_silent(b.worker, v_now)) order by",
        by="is_silent(b.worker, v_now) or true) order by",
    ),
    mutant(
        "released batches are taken from the living",
        who_lives_keeps_what_it_released,
        function="reset_stuck",
        replace="is_silent(b.worker, v_now) or",
        by="is_silent(b.worker, v_now) or true or",
    ),
    mutant(
        "silence begins at once",
        who_lives_keeps_its_claim,
        function="is_silent",
        replace="- s.worker_silence",
    ),
    mutant(
        "silence never begins",
        who_falls_silent_loses_its_claim,
        function="reset_stuck",
        replace="is_silent(b.worker, v_now)) order by",
        by="is_silent(b.worker, v_now) and false) order by",
    ),
    mutant(
        "a claim has no age",
        who_never_had_a_heartbeat_loses_its_claim_in_time,
        function="reset_stuck",
        replace="or b.claimed_at <= v_now - p_older_than",
    ),
    mutant(
        "strays are not looked for",
        a_mark_without_a_batch_is_taken_off,
        function="reset_stuck",
        replace="rows_reset := rows_reset + …reset_strays(…);",
    ),
    mutant(
        "every old mark counts as a stray",
        a_mark_that_belongs_to_a_batch_stays,
        function="reset_strays",
        replace="b.state = 'CLAIMED'",
        by="false",
    ),
    mutant(
        "a token is kept at adoption",
        who_was_replaced_settles_nothing,
        function="adopt_batch",
        replace="batch_id = gen_random_uuid(),",
    ),
    mutant(
        "claims are adopted",
        what_is_only_claimed_is_not_adopted,
        function="adopt_batch",
        replace="b.state = 'RELEASED' and b.worker",
        by="b.worker",
    ),
    mutant(
        "what somebody holds is adopted",
        who_lives_keeps_what_it_released,
        function="adopt_batch",
        replace="and b.worker is null",
    ),
    mutant(
        "a worker loses what it knows of",
        what_a_worker_knows_of_is_not_taken_from_it,
        function="return_unknown_batches",
        replace="and b.batch_id <> all (coalesce(p_known, '{}'))",
    ),
]
