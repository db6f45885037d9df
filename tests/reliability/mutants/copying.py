"""Copies: none is made, moved or removed so that a content ends with fewer good ones than it had."""

from typing import Any

from tests.support.copy_fixtures import Copier, backends, factor, places, state
from tests.support.mutants.mutant import Edit, Mutant, mutant
from tests.support.mutants.scene import Scene, from_an_old_snapshot

HASH = "ab" + "0" * 62


def copied(scene: Scene, copies: int = 2, content: str = "h") -> Copier:
    """A content with so many copies on default, east and west."""
    backends(scene.db, "east", "west")
    factor(scene.db, copies)
    scene.stored("a", content)
    copier = Copier(scene.db)
    copier.replicate()
    return copier


def claimed(scene: Scene, content: str = "h") -> tuple[Copier, Any]:
    """A content whose second copy is being made."""
    backends(scene.db, "east")
    factor(scene.db, 2)
    scene.stored("a", content)
    copier = Copier(scene.db)
    [task] = copier.claim_copies()
    return copier, task


def bad(scene: Scene, copier: Copier) -> None:
    """The only copy is found to be corrupt."""
    [(home, key)] = scene.db.execute("select backend, object_key from reaper.object_locations").fetchall()
    assert copier.report("h", home, key, "corrupt") == "recorded"


def a_put_of_content_whose_only_copy_is_bad_needs_its_bytes(scene: Scene) -> None:
    copier = copied(scene, 1)
    bad(scene, copier)
    intent = scene.writer.begin("b", "h")
    assert intent.upload_required
    with scene.refusal("RP002"):
        scene.writer.commit(intent.intent_id, uploaded=False)
    scene.writer.commit(intent.intent_id)
    assert scene.writer.get("b").object_key == intent.object_key
    scene.all_is_well()


def a_moved_name_is_not_used_again_before_its_object_is_gone(scene: Scene) -> None:
    backends(scene.db, "east")
    scene.live("a", content="bare", own_key=False)
    state(scene.db, "default", "draining")
    assert Copier(scene.db).replicate() == ["moved"]
    scene.all_is_well()


def a_copy_is_removed_only_with_enough_others_that_were_seen(scene: Scene) -> None:
    copier = copied(scene, 3)
    factor(scene.db, 2)
    copier.sweep()
    [excess] = copier.claim_excess()
    [key] = scene.column(
        "select object_key from reaper.object_locations where backend = %s", excess.keep_backends[0]
    )
    call = ("remove_copy", "h", excess.remove_backend, excess.remove_key)
    assert copier.call(*call, excess.keep_backends[:1], [key])[0].remove_copy != "removed"
    copier.report("h", excess.keep_backends[0], key, "corrupt")
    assert copier.remove_copy(excess) != "removed"


def the_last_good_copy_stays(scene: Scene) -> None:
    copier = copied(scene, 2)
    factor(scene.db, 1)
    copier.sweep()
    [excess] = copier.claim_excess()
    scene.db.execute(
        "update reaper.object_locations set verified_at = null where backend = any (%s)",
        [excess.keep_backends],
    )
    assert copier.remove_copy(excess) != "removed"
    copier.report("h", excess.keep_backends[0], excess.keep_keys[0], "missing")
    assert copier.remove_copy(excess) != "removed"
    itself = ([excess.remove_backend], [excess.remove_key])
    answer = copier.call("remove_copy", "h", excess.remove_backend, excess.remove_key, *itself)
    assert answer[0].remove_copy != "removed"
    assert places(scene.db, "h") == {f"{excess.keep_backends[0]}?", excess.remove_backend}


def a_bad_copy_is_not_kept_in_the_place_of_a_good_one(scene: Scene) -> None:
    copier = copied(scene, 2)
    [key] = scene.column("select object_key from reaper.object_locations where backend = 'default'")
    copier.report("h", "default", key, "corrupt")
    factor(scene.db, 1)
    copier.sweep()
    copier.remove_excess()
    assert "default?" not in places(scene.db, "h")
    assert len(places(scene.db, "h")) == 1


def a_late_copy_changes_nothing(scene: Scene) -> None:
    copier, task = claimed(scene)
    scene.clock.advance("1 hour")
    assert copier.call("drop_stale_copies")[0].drop_stale_copies == 1
    with scene.refusal("RP001"):
        copier.commit_copy(task)
    assert len(places(scene.db, "h")) == 1
    scene.all_is_well()


def a_copy_that_is_no_longer_needed_is_deleted(scene: Scene) -> None:
    copier, task = claimed(scene)
    factor(scene.db, 1)
    assert copier.commit_copy(task) == "not_needed"
    assert scene.queued() == [task.object_key]
    scene.all_is_well()


def a_copy_made_from_bytes_that_are_bad_is_no_copy(scene: Scene) -> None:
    copier, task = claimed(scene)
    bad(scene, copier)
    assert copier.commit_copy(task) == "not_needed"


def other_bytes_are_no_copy(scene: Scene) -> None:
    copier, task = claimed(scene, HASH)
    with scene.refusal("RP005"):
        copier.commit_copy(task, sha256="cd" * 32)
    with scene.refusal("RP005"):
        copier.commit_copy(task, size=11)


def nothing_is_moved_that_was_not_verified(scene: Scene) -> None:
    copier = copied(scene, 1)
    [home] = places(scene.db, "h")
    state(scene.db, home, "draining")
    copier.sweep()
    [task] = copier.claim_copies()
    with scene.refusal("RP005"):
        copier.commit_copy(task, verified=False)
    assert places(scene.db, "h") == {home}


def the_source_of_a_move_goes_only_if_it_is_the_one_that_was_copied(scene: Scene) -> None:
    copier = copied(scene, 1)
    [home] = places(scene.db, "h")
    state(scene.db, home, "draining")
    copier.sweep()
    [task] = copier.claim_copies()
    scene.db.execute(
        "update reaper.object_locations set object_key = 'another'; update content set object_key = 'another'"
    )
    assert copier.commit_copy(task) == "copied"
    assert places(scene.db, "h") == {home, task.destination}


def a_moved_content_has_the_key_of_a_copy(scene: Scene) -> None:
    copier = copied(scene, 1)
    [home] = places(scene.db, "h")
    state(scene.db, home, "draining")
    assert copier.replicate() == ["moved"]
    scene.all_is_well()


def copies_keep_within_the_quotas_together(scene: Scene) -> None:
    backends(scene.db, "east")
    scene.db.execute("select reaper.set_quota('east', 15, 'small')")
    scene.stored("a", "h")
    scene.stored("b", "g")
    factor(scene.db, 2)
    scene.db.execute("update reaper.object_locations set backend = 'default'")
    scene.db.execute("delete from reaper.byte_deltas")
    scene.db.execute("insert into reaper.byte_deltas (backend, used_bytes) values ('default', 20)")
    copier = Copier(scene.db)
    copier.sweep()
    assert len(copier.claim_copies()) == 1
    scene.all_is_well()


def a_release_leaves_no_want(scene: Scene) -> None:
    claimed(scene)
    scene.over("a")
    assert scene.column("select content_hash from reaper.copy_wants") == []


def a_backend_with_something_on_it_is_not_removed(scene: Scene) -> None:
    copied(scene, 2)
    [empty] = {"default", "east", "west"} - places(scene.db, "h")
    with scene.refusal("RP005"):
        scene.db.execute("select reaper.remove_backend(%s, 'a test')", [empty])
    for name in places(scene.db, "h"):
        if name != "default":
            with scene.refusal("RP005"):
                scene.db.execute("select reaper.remove_backend(%s, 'a test')", [name])
            state(scene.db, name, "draining")
            with scene.refusal("RP005"):
                scene.db.execute("select reaper.remove_backend(%s, 'a test')", [name])


def bad_copies_are_read_last(scene: Scene) -> None:
    copier = copied(scene, 2)
    first = scene.db.execute("select backend, object_key from reaper.copies_of('h')").fetchall()[0]
    copier.report("h", *first, "corrupt")
    assert scene.writer.get("a").backend != first[0]


@from_an_old_snapshot
def nothing_is_removed_from_an_old_snapshot(scene: Scene) -> None:
    with scene.refusal("RP006"):
        scene.db.execute("select reaper.remove_copy('h', 'east', 'k', '{}', '{}')")


@from_an_old_snapshot
def nothing_is_committed_from_an_old_snapshot(scene: Scene) -> None:
    with scene.refusal("RP006"):
        scene.db.execute(
            "select * from reaper.commit_copies("
            "gen_random_uuid(), array[gen_random_uuid()], '{a}', '{1}', '{a}', '{t}')"
        )


JUDGE = "judge_copies"
MUTANTS = [
    mutant(
        "a put is deduplicated onto a bad copy",
        a_put_of_content_whose_only_copy_is_bad_needs_its_bytes,
        function="begin_put",
        replace="and not reaper_internal.needs_bytes(p_content_hash, v_now)",
    ),
    mutant(
        "a put is committed onto a bad copy",
        a_put_of_content_whose_only_copy_is_bad_needs_its_bytes,
        function="add_reference",
        replace="if not reaper_internal.needs_bytes(v_hash, p_now) then",
        by="if true then",
    ),
    mutant(
        "a bad copy is replaced without bytes",
        a_put_of_content_whose_only_copy_is_bad_needs_its_bytes,
        function="add_reference",
        replace="perform reaper_internal.require_bytes(p_intent, p_uploaded); return",
        by="return",
    ),
    mutant(
        "a moved name is not retired",
        a_moved_name_is_not_used_again_before_its_object_is_gone,
        function="enqueue_object",
        replace="insert into reaper.retired_keys …;",
    ),
    mutant(
        "a moved content keeps the key of what is deleted",
        a_moved_content_has_the_key_of_a_copy,
        function="replace_copy",
        replace="perform reaper_internal.set_content_key…;",
    ),
    mutant(
        "a removal does not recount",
        a_copy_is_removed_only_with_enough_others_that_were_seen,
        function="remove_copy",
        replace="if v_left.copies < (select s.replication_factor from reaper.settings s) then",
        by="if false then",
    ),
    mutant(
        "a removal counts bad copies",
        a_copy_is_removed_only_with_enough_others_that_were_seen,
        function="remove_copy",
        replace="where l.trouble is null and",
        by="where",
    ),
    mutant(
        "a removal counts copies that no HEAD has found",
        a_copy_is_removed_only_with_enough_others_that_were_seen,
        function="remove_copy",
        replace="and l.backend = n.backend and l.object_key = n.object_key",
    ),
    mutant(
        "the last verified copy is removed",
        the_last_good_copy_stays,
        function="remove_copy",
        replace="if not v_left.is_safe then",
        by="if false then",
    ),
    mutant(
        "the last good copy is removed because it counts itself",
        the_last_good_copy_stays,
        function="remove_copy",
        replace="and h.backend <> p_backend",
    ),
    mutant(
        "bad copies stay for ever",
        a_bad_copy_is_not_kept_in_the_place_of_a_good_one,
        function="copy_needs",
        replace="or (j.bad + j.draining > 0 and j.counting >= b.factor)",
    ),
    mutant(
        "a good copy goes before a bad one",
        a_bad_copy_is_not_kept_in_the_place_of_a_good_one,
        function="excess_copies",
        replace="k.kept >= f.factor",
        by="not r.is_bad and k.kept >= f.factor",
    ),
    mutant(
        "a lost lease is not noticed",
        a_late_copy_changes_nothing,
        function="drop_stale_copies",
        replace="perform reaper_internal.drop_copy_intent…;",
    ),
    mutant(
        "a copy is not judged again",
        a_copy_that_is_no_longer_needed_is_deleted,
        function=JUDGE,
        replace="else 'not_needed' end,",
        by="else 'needed' end,",
    ),
    mutant(
        "a copy of bad bytes is taken",
        a_copy_made_from_bytes_that_are_bad_is_no_copy,
        function=JUDGE,
        replace="or (f.trouble = 'corrupt' and not (h.has_digest and h.sha256 is not null))",
    ),
    mutant(
        "the digest is not compared",
        other_bytes_are_no_copy,
        function=JUDGE,
        replace="or (h.has_digest and lower(h.sha256) <> lower(h.content_hash))",
    ),
    mutant(
        "the size is not compared",
        other_bytes_are_no_copy,
        function=JUDGE,
        replace="or h.stored_bytes <> h.size_bytes",
    ),
    mutant(
        "a move need not be verified",
        nothing_is_moved_that_was_not_verified,
        function=JUDGE,
        replace="or (h.purpose <> 'replicate' and not h.is_verified)",
    ),
    Mutant(
        "the source of a move is not compared",
        the_source_of_a_move_goes_only_if_it_is_the_one_that_was_copied,
        (
            Edit("replace_copy", "and l.object_key = p_intent.replaces_key"),
            Edit("delete_copy", "and l.object_key = p_object_key"),
        ),
    ),
    mutant(
        "copies reserve no room",
        copies_keep_within_the_quotas_together,
        function="begin_copies",
        replace="perform reaper_internal.add_reservations(p_lease, p_hashes);",
    ),
    mutant(
        "room is not counted down",
        copies_keep_within_the_quotas_together,
        function="begin_copies",
        replace="rooms[v_index] := rooms[v_index] - coalesce(v_task.size_bytes, 0);",
    ),
    mutant(
        "a release leaves wants",
        a_release_leaves_no_want,
        function="release_objects",
        replace="perform reaper_internal.delete_needs(p_hashes);",
    ),
    mutant(
        "a backend is removed with what lies there",
        a_backend_with_something_on_it_is_not_removed,
        function="remove_backend",
        replace="if v_remains is not null then",
        by="if false then",
    ),
    mutant(
        "an active backend is removed",
        a_backend_with_something_on_it_is_not_removed,
        function="remove_backend",
        replace="if v_backend.state <> 'draining' then",
        by="if false then",
    ),
    mutant(
        "a bad copy is read first",
        bad_copies_are_read_last,
        function="copies_of",
        replace="l.trouble is null desc,",
    ),
    mutant(
        "a copy is removed from any snapshot",
        nothing_is_removed_from_an_old_snapshot,
        function="remove_copy",
        replace="perform reaper_internal.require_read_committed();",
    ),
    mutant(
        "a copy is committed from any snapshot",
        nothing_is_committed_from_an_old_snapshot,
        function="commit_copies",
        replace="perform reaper_internal.require_read_committed();",
    ),
]
