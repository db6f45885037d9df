"""Puts that their writers left open."""

from tests.support.mutants.mutant import mutant
from tests.support.mutants.scene import Scene


def what_one_looks_at_another_does_not_decide(scene: Scene) -> None:
    intent = scene.writer.begin().intent_id
    scene.clock.advance("1 hour")
    old = scene.me.call("claim_intents", 10)[0].lease
    scene.clock.advance("1 hour")
    scene.me.call("claim_intents", 10)
    with scene.refusal("RP001"):
        scene.me.call("finish_intent", intent, old, False)


def what_somebody_looks_at_is_left_to_them(scene: Scene) -> None:
    scene.writer.begin()
    scene.clock.advance("1 hour")
    assert len(scene.me.call("claim_intents", 10)) == 1
    assert scene.me.call("claim_intents", 10) == []


def a_writer_has_the_time_that_it_is_given(scene: Scene) -> None:
    scene.writer.begin()
    scene.db.execute("update reaper.settings set intent_min_age = '5 hours'")
    scene.clock.advance("1 hour")
    assert scene.me.call("claim_intents", 10) == []


def bytes_that_are_not_whole_are_not_content(scene: Scene) -> None:
    intent = scene.writer.begin(content="0" * 64).intent_id
    scene.clock.advance("1 hour")
    lease = scene.me.call("claim_intents", 10)[0].lease
    for size, digest in ((9, "0" * 64), (10, "1" * 64)):
        with scene.db.transaction(force_rollback=True):
            answer = scene.me.call("finish_intent", intent, lease, True, size, digest)[0]
            assert answer.finish_intent == "dropped"


def bytes_that_nobody_committed_are_deleted(scene: Scene) -> None:
    intent = scene.writer.begin()
    scene.clock.advance("1 hour")
    lease = scene.me.call("claim_intents", 10)[0].lease
    scene.me.call("finish_intent", intent.intent_id, lease, True, 1, None)
    assert scene.queued() == [intent.object_key]
    scene.all_is_well()


MUTANTS = [
    mutant(
        "an older look decides",
        what_one_looks_at_another_does_not_decide,
        function="lock_intent",
        replace="found and v_intent.lease is distinct from p_lease",
        by="false",
    ),
    mutant(
        "two look at one intent",
        what_somebody_looks_at_is_left_to_them,
        function="claim_intents",
        replace="and i.next_attempt <= v_now",
    ),
    mutant(
        "a put under way is taken from its writer",
        a_writer_has_the_time_that_it_is_given,
        function="claim_intents",
        replace="and i.begun_at <= v_now - s.intent_min_age",
    ),
    mutant(
        "half an object is content",
        bytes_that_are_not_whole_are_not_content,
        function="finish_intent",
        replace="is_whole(v_intent, p_size, p_hash)",
        by="is_whole(v_intent, v_intent.size_bytes, v_intent.content_hash)",
    ),
    mutant(
        "the size is not compared",
        bytes_that_are_not_whole_are_not_content,
        function="is_whole",
        replace="coalesce(p_size = p_intent.size_bytes, false)",
        by="true",
    ),
    mutant(
        "the hash is not compared",
        bytes_that_are_not_whole_are_not_content,
        function="is_whole",
        replace="coalesce(lower(p_hash) = lower(p_intent.content_hash), false)",
        by="true",
    ),
    mutant(
        "bytes that nobody committed stay",
        bytes_that_nobody_committed_are_deleted,
        function="finish_intent",
        replace="drop_intent(v_intent, true, v_now)",
        by="drop_intent(v_intent, false, v_now)",
    ),
]
