"""Nothing is claimed under object keys that name no object."""

from tests.support.mutants.mutant import mutant
from tests.support.mutants.scene import Scene

ADOPTED = "update reaper.bindings set keys_confirmed = null, keys_checked = null where name = 'content'"
CONFIRMED = "select keys_confirmed from reaper.bindings where name = 'content'"
LOOKED = "select reaper.record_key_check(%s, %s, 'a key')"


def keys_that_name_no_object_stop_claims(scene: Scene) -> None:
    scene.due("a")
    scene.db.execute(ADOPTED)
    assert scene.value(LOOKED, 100, 0) is False
    with scene.refusal("RP010"):
        scene.me.try_claim()


def keys_that_name_no_object_stop_deletions(scene: Scene) -> None:
    scene.released("a")
    scene.db.execute("select reaper.disown_batch(batch_id) from reaper.batches")
    scene.db.execute(ADOPTED)
    scene.value(LOOKED, 100, 0)
    with scene.refusal("RP010"):
        scene.me.adopt()
    with scene.refusal("RP010"):
        scene.lease()


def what_was_released_is_looked_for_where_nothing_else_is_left(scene: Scene) -> None:
    scene.released("a")
    assert scene.column("select content_hash from reaper.sample_keys()") == ["of a"]


def what_was_released_under_another_binding_says_nothing(scene: Scene) -> None:
    scene.released("a")
    scene.db.execute("update reaper.bindings set bound_at = reaper.clock() + interval '1 second'")
    assert scene.column("select content_hash from reaper.sample_keys()") == []


def half_of_the_objects_is_not_enough(scene: Scene) -> None:
    scene.db.execute(ADOPTED)
    assert scene.value(LOOKED, 10, 5) is False
    assert scene.value(LOOKED, 10, 6) is True


def a_look_for_nothing_finds_nothing_out(scene: Scene) -> None:
    scene.db.execute(ADOPTED)
    assert scene.value(LOOKED, 0, 0) is None
    assert scene.value(CONFIRMED) is None


def keys_that_were_found_once_stay_confirmed(scene: Scene) -> None:
    scene.db.execute(ADOPTED)
    scene.value(LOOKED, 10, 10)
    assert scene.value(LOOKED, 10, 0) is True


def a_look_under_another_binding_says_nothing(scene: Scene) -> None:
    scene.db.execute(ADOPTED)
    query = "select reaper.record_key_check(10, 10, null, now() - interval '1 day')"
    assert scene.value(query) is None


def what_reaper_stored_is_no_sample(scene: Scene) -> None:
    scene.stored("a", "h1")
    scene.due("b")
    assert scene.column("select content_hash from reaper.sample_keys()") == ["of b"]


MUTANTS = [
    mutant(
        "keys that name no object are claimed under",
        keys_that_name_no_object_stop_claims,
        function="key_problems",
        replace="where b.keys_confirmed is false",
        by="where false",
    ),
    mutant(
        "batches are adopted under keys that name no object",
        keys_that_name_no_object_stop_deletions,
        function="adopt_batch",
        replace="perform …require_confirmed_keys();",
    ),
    mutant(
        "deletions are retried under keys that name no object",
        keys_that_name_no_object_stop_deletions,
        function="claim_cleanup",
        replace="perform …require_confirmed_keys();",
    ),
    mutant(
        "released keys are not looked for",
        what_was_released_is_looked_for_where_nothing_else_is_left,
        function="sample_keys",
        replace="return query select * from reaper_internal.released_keys(p_limit);",
        by="null;",
    ),
    mutant(
        "keys of a former binding are looked for",
        what_was_released_under_another_binding_says_nothing,
        function="released_keys",
        replace="and r.released_at >= bound.bound_at",
    ),
    mutant(
        "a look is not counted",
        half_of_the_objects_is_not_enough,
        function="record_key_check",
        replace="p_found * 2::bigint > p_looked",
        by="true",
    ),
    mutant(
        "half of the objects confirms the keys",
        half_of_the_objects_is_not_enough,
        function="record_key_check",
        replace="p_found * 2::bigint > p_looked",
        by="p_found * 2::bigint >= p_looked",
    ),
    mutant(
        "a sample of nothing decides",
        a_look_for_nothing_finds_nothing_out,
        function="record_key_check",
        replace="p_looked = 0 or",
    ),
    mutant(
        "keys that were confirmed are refused later",
        keys_that_were_found_once_stay_confirmed,
        function="record_key_check",
        replace="v_binding.keys_confirmed or",
    ),
    mutant(
        "a look under another binding confirms this one",
        a_look_under_another_binding_says_nothing,
        function="record_key_check",
        replace="or v_binding.bound_at <> p_bound_at",
    ),
    mutant(
        "a sample has what reaper stored",
        what_reaper_stored_is_no_sample,
        function="keys_to_look_for",
        replace="and not exists (select from reaper.object_locations …)",
    ),
]
