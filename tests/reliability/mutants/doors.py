"""The doors: what writers and readers may rely on."""

from tests.support.mutants.mutant import READ_COMMITTED, Edit, Mutant, mutant
from tests.support.mutants.scene import Scene, from_an_old_snapshot
from tests.support.paste_fixtures import refs


def a_put_that_is_over_before_it_begins_is_refused(scene: Scene) -> None:
    with scene.refusal("RP005"):
        scene.writer.begin(expires="-1 second")


def an_intent_is_on_disk_before_its_upload(scene: Scene) -> None:
    scene.db.execute("set local synchronous_commit = off")
    scene.writer.begin()
    assert scene.value("select current_setting('synchronous_commit')") == "on"


@from_an_old_snapshot
def a_put_from_an_old_snapshot_is_refused(scene: Scene) -> None:
    with scene.refusal("RP006"):
        scene.writer.begin()


@from_an_old_snapshot
def a_commit_from_an_old_snapshot_is_refused(scene: Scene) -> None:
    scene.db.execute(
        "insert into reaper.put_intents (intent_id, short_code, content_hash, size_bytes, backend,"
        " object_key, upload_required, reserved, begun_at, next_attempt)"
        " values (gen_random_uuid(), 'a', 'h', 10, 'default', 'k', true, true, now(), now())"
    )
    with scene.refusal("RP006"):
        scene.writer.commit(scene.value("select intent_id from reaper.put_intents"))


def room_is_reserved_and_becomes_used(scene: Scene) -> None:
    intent = scene.writer.begin()
    scene.all_is_well()
    scene.writer.commit(intent.intent_id)
    scene.all_is_well()


def a_full_store_takes_nothing_new(scene: Scene) -> None:
    scene.db.execute("select reaper.set_quota('default', 15, 'small')")
    scene.stored("a", "h", 10)
    with scene.refusal("RP008"):
        scene.writer.begin("b", "g", 10)


def what_had_no_room_is_not_made(scene: Scene) -> None:
    scene.db.execute("select reaper.set_quota('default', 15, 'small')")
    scene.stored("a", "h", 10)
    intent = scene.writer.begin("b", "h", 10)
    scene.me.finish(scene.over("a"))
    scene.stored("c", "g", 10)
    with scene.refusal("RP003"):
        scene.writer.commit(intent.intent_id, True)
    scene.all_is_well()


def nothing_new_comes_to_a_backend_that_is_read_only(scene: Scene) -> None:
    scene.db.execute("select reaper.register_backend('east')")
    scene.db.execute("select reaper.set_backend_state('default', 'readonly', 'full')")
    assert scene.writer.begin().backend == "east"


def content_is_not_made_without_bytes(scene: Scene) -> None:
    scene.stored("a")
    intent = scene.writer.begin("b")
    assert not intent.upload_required
    scene.me.finish(scene.over("a"))
    with scene.refusal("RP002"):
        scene.writer.commit(intent.intent_id, False)


def an_intent_that_was_given_up_makes_no_paste(scene: Scene) -> None:
    intent = scene.writer.begin()
    scene.writer.abort(intent.intent_id)
    with scene.refusal("RP003"):
        scene.writer.commit(intent.intent_id)
    scene.all_is_well()


def of_two_with_one_code_the_second_counts_nothing(scene: Scene) -> None:
    first, second = scene.writer.begin("a"), scene.writer.begin("a")
    scene.writer.commit(first.intent_id)
    with scene.refusal("23505"):
        scene.writer.commit(second.intent_id)
    scene.all_is_well()


def of_two_with_one_content_the_second_gives_its_bytes_away(scene: Scene) -> None:
    first, second = scene.writer.begin("a"), scene.writer.begin("b")
    scene.writer.commit(first.intent_id)
    scene.writer.commit(second.intent_id)
    assert scene.queued() == [second.object_key]
    assert refs(scene.db, "h") == 2
    scene.all_is_well()


def copies_of_content_that_somebody_deleted_are_not_forgotten(scene: Scene) -> None:
    key = scene.stored("a")
    scene.db.execute("delete from pastes; delete from content")
    scene.stored("b")
    assert scene.queued() == [key]
    scene.all_is_well()


def a_slow_upload_leaves_nothing_behind(scene: Scene) -> None:
    intent = scene.writer.begin()
    scene.writer.abort(intent.intent_id)
    scene.all_is_well()
    assert scene.lease() == (None, []), "it is still under way"
    for _ in range(2):
        scene.clock.advance("1 hour")
        lease, keys = scene.lease()
        assert keys == [intent.object_key]
        scene.settle(lease)
        scene.all_is_well()
    assert scene.queued() == []


def bytes_that_came_too_late_are_owed_once(scene: Scene) -> None:
    intent = scene.writer.begin()
    scene.writer.abort(intent.intent_id, False)
    name = (intent.backend, intent.object_key, "h", 10)
    assert scene.me.call("enqueue_late_upload", *name)[0].enqueue_late_upload
    assert not scene.me.call("enqueue_late_upload", *name)[0].enqueue_late_upload
    assert scene.queued() == [intent.object_key]
    scene.all_is_well()


def bytes_that_came_after_their_last_deletion_are_deleted_again(scene: Scene) -> None:
    intent = scene.writer.begin()
    scene.writer.abort(intent.intent_id)
    scene.clock.advance("1 hour")
    scene.settle(scene.lease()[0])
    scene.clock.advance("1 hour")
    last, _ = scene.lease()
    scene.me.call("enqueue_late_upload", intent.backend, intent.object_key, "h", 10)
    scene.settle(last)
    assert scene.queued() == [intent.object_key]
    scene.all_is_well()


def bytes_that_are_content_are_never_owed(scene: Scene) -> None:
    key = scene.stored("a")
    assert not scene.me.call("enqueue_late_upload", "default", key, "h", 10)[0].enqueue_late_upload
    scene.all_is_well()


def nobody_lets_delete_what_is_not_an_upload(scene: Scene) -> None:
    scene.live("a", content="h", own_key=False)
    with scene.refusal("RP005"):
        scene.me.call("enqueue_late_upload", "default", "h", "h", 10)


def what_was_revived_is_not_marked(scene: Scene) -> None:
    scene.due("a")
    scene.me.claim()
    scene.writer.extend("a")
    assert scene.marked() == []


def a_shorter_life_is_told_to_the_cache(scene: Scene) -> None:
    scene.live("a")
    scene.writer.extend("a", "1 hour")
    assert scene.owed_entries() == ["a"]


def a_deleted_paste_is_told_to_the_cache(scene: Scene) -> None:
    scene.live("a")
    scene.writer.delete("a")
    assert scene.owed_entries() == ["a"]


def an_expired_paste_is_unreadable(scene: Scene) -> None:
    scene.due("a")
    assert scene.writer.get("a") is None


def the_clock_moves_only_where_it_may(scene: Scene) -> None:
    scene.live("a")
    scene.db.execute("update reaper.settings set clock_offset = '2 days'")
    assert scene.me.try_claim() is None


MUTANTS = [
    mutant(
        "a put may be over before it begins",
        a_put_that_is_over_before_it_begins_is_refused,
        function="begin_put",
        replace="perform …require_expiry(…);",
    ),
    mutant(
        "an intent may be lost in a crash",
        an_intent_is_on_disk_before_its_upload,
        function="begin_put",
        replace="perform set_config('synchronous_commit', 'on', true);",
    ),
    mutant(
        "a put takes any snapshot",
        a_put_from_an_old_snapshot_is_refused,
        function="begin_put",
        replace=READ_COMMITTED,
    ),
    mutant(
        "a commit takes any snapshot",
        a_commit_from_an_old_snapshot_is_refused,
        function="commit_put",
        replace=READ_COMMITTED,
    ),
    mutant(
        "room is not reserved",
        room_is_reserved_and_becomes_used,
        function="begin_put",
        replace="perform …add_bytes(…);",
        by="null;",
    ),
    mutant(
        "used bytes are not booked",
        room_is_reserved_and_becomes_used,
        function="finish_put",
        replace="p_used => case …end,",
    ),
    mutant(
        "an intent outlives its paste",
        room_is_reserved_and_becomes_used,
        function="finish_put",
        replace="delete from …put_intents …;",
    ),
    Mutant(
        "a quota is a word",
        a_full_store_takes_nothing_new,
        (
            Edit(function="choose_backend", replace="and coalesce(f.room >= p_size_bytes, true)"),
            Edit(function="lock_backend_with_room", replace="or v_backend.quota - v_taken < p_size_bytes"),
        ),
    ),
    mutant(
        "content is made without room",
        what_had_no_room_is_not_made,
        function="require_bytes",
        replace="not p_intent.reserved",
        by="false",
    ),
    mutant(
        "new bytes go to a backend that is read-only",
        nothing_new_comes_to_a_backend_that_is_read_only,
        function="choose_backend",
        replace="b.state = 'active' and",
    ),
    mutant(
        "content is made without bytes",
        content_is_not_made_without_bytes,
        function="add_reference",
        replace="perform reaper_internal.require_bytes(p_intent, p_uploaded); insert into",
        by="insert into",
    ),
    mutant(
        "an intent that is gone makes a paste",
        an_intent_that_was_given_up_makes_no_paste,
        function="commit_put",
        replace="if not found then",
        by="if false then",
    ),
    mutant(
        "a code that is taken is counted",
        of_two_with_one_code_the_second_counts_nothing,
        function="finish_put",
        replace="perform …raise_code_taken(…);",
        by="null;",
    ),
    mutant(
        "spare bytes are forgotten",
        of_two_with_one_content_the_second_gives_its_bytes_away,
        function="finish_put",
        replace="if v_spare then",
        by="if false then",
    ),
    mutant(
        "spare bytes are not booked",
        of_two_with_one_content_the_second_gives_its_bytes_away,
        function="finish_put",
        replace="p_orphan => case …end,",
    ),
    mutant(
        "a second reference is not counted",
        of_two_with_one_content_the_second_gives_its_bytes_away,
        function="add_reference",
        replace="coalesce(c.ref_count, 0) + 1",
        by="coalesce(c.ref_count, 0)",
    ),
    mutant(
        "old copies are forgotten",
        copies_of_content_that_somebody_deleted_are_not_forgotten,
        function="record_copy",
        replace="p_now from stale s",
        by="… where false",
    ),
    mutant(
        "bytes of a put that was given up are forgotten",
        a_slow_upload_leaves_nothing_behind,
        function="drop_intent",
        replace="if p_uploaded then",
        by="if false then",
    ),
    mutant(
        "a key is deleted while its upload is under way",
        a_slow_upload_leaves_nothing_behind,
        function="drop_intent",
        replace="+ s.intent_min_age",
    ),
    mutant(
        "a key is deleted once",
        a_slow_upload_leaves_nothing_behind,
        function="drop_intent",
        replace="intent_min_age, 2",
        by="intent_min_age, 1",
    ),
    mutant(
        "the second deletion is skipped",
        a_slow_upload_leaves_nothing_behind,
        function="finish_deleted",
        replace="q.passes_left > 1",
        by="false",
    ),
    mutant(
        "late bytes are not booked",
        bytes_that_came_too_late_are_owed_once,
        function="enqueue_late_upload",
        replace="if v_queued then",
        by="if false then",
    ),
    mutant(
        "late bytes are left to a deletion that came before them",
        bytes_that_came_after_their_last_deletion_are_deleted_again,
        function="enqueue_late_upload",
        replace="passes_left = 2",
        by="passes_left = q.passes_left",
    ),
    mutant(
        "content is owed a deletion as a late upload",
        bytes_that_are_content_are_never_owed,
        function="enqueue_late_upload",
        replace="if exists (select from …known_objects(…)) then",
        by="if false then",
    ),
    mutant(
        "any name is deleted as a late upload",
        nobody_lets_delete_what_is_not_an_upload,
        function="enqueue_late_upload",
        replace="p_object_key is null or …$' or",
    ),
    mutant(
        "what was revived stays marked",
        what_was_revived_is_not_marked,
        function="extend_paste",
        replace=", deletion_status = 'NOT_EXPIRED', …null",
    ),
    mutant(
        "a shorter life is kept from the cache",
        a_shorter_life_is_told_to_the_cache,
        function="extend_paste",
        replace="if p_expires_at < v_before then",
        by="if false then",
    ),
    mutant(
        "a deletion is kept from the cache",
        a_deleted_paste_is_told_to_the_cache,
        function="delete_paste",
        replace="perform …enqueue_invalidation(…);",
    ),
    mutant(
        "an expired paste can be read",
        an_expired_paste_is_unreadable,
        function="get_paste",
        replace="and (p.expires_at is null …clock())",
    ),
    mutant(
        "the clock moves without permission",
        the_clock_moves_only_where_it_may,
        function="clock",
        replace="where s.clock_may_move",
    ),
]
