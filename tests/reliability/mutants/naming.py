"""Names of objects: new ones are used once, and those that may come back wait until their object is gone."""

from tests.support.mutants.mutant import mutant
from tests.support.mutants.scene import Scene, failure


def a_name_that_may_come_back_is_retired_until_its_object_is_gone(scene: Scene) -> None:
    batch = scene.released("a", content="h", own_key=False)
    scene.all_is_well()
    with scene.refusal("RP004"):
        scene.db.execute("insert into content (content_hash) values ('h')")
    scene.me.finish(batch)
    scene.db.execute("insert into content (content_hash) values ('h')")
    scene.all_is_well()


def a_name_stays_retired_while_its_deletion_is_owed(scene: Scene) -> None:
    batch = scene.released("a", content="h", own_key=False)
    scene.me.finish(batch, None)
    with scene.refusal("RP004"):
        scene.db.execute("insert into content (content_hash) values ('h')")
    scene.all_is_well()


def an_object_that_another_content_names_stays(scene: Scene) -> None:
    scene.due("a", content="h")
    scene.live("b", content="key of h", own_key=False)
    assert scene.me.drop(scene.me.claim()) == []


def an_object_that_another_content_has_as_its_key_stays(scene: Scene) -> None:
    scene.due("a", content="h", own_key=False)
    scene.live("b", content="other", own_key=False)
    scene.db.execute("update content set object_key = 'h' where content_hash = 'other'")
    assert scene.me.drop(scene.me.claim()) == []
    scene.all_is_well()


def an_object_that_is_the_copy_of_another_content_stays(scene: Scene) -> None:
    scene.due("a", content="h", own_key=False)
    scene.live("b", content="other")
    scene.copy("other", "default", key="h")
    assert [gone.object_key for gone in scene.me.drop(scene.me.claim())] == []


def a_name_stays_retired_while_its_deletion_is_given_up(scene: Scene) -> None:
    batch = scene.released("a", content="h", own_key=False)
    scene.me.finish(batch, [failure("h", "AccessDenied", permanent=True)])
    assert (scene.dead(), scene.queued()) == (["h"], [])
    scene.released("b", content="g", own_key=False)
    scene.db.execute("select reaper_internal.free_names('{h}')")
    with scene.refusal("RP004"):
        scene.db.execute("insert into content (content_hash) values ('h')")


def a_retired_name_is_free_when_the_queue_is_done_with_it(scene: Scene) -> None:
    batch = scene.released("a", content="h", own_key=False)
    scene.me.finish(batch, None)
    lease, _ = scene.lease()
    scene.settle(lease)
    scene.db.execute("insert into content (content_hash) values ('h')")
    scene.all_is_well()


def a_late_deletion_hits_no_new_object(scene: Scene) -> None:
    first = scene.stored("a")
    batch = scene.over("a")
    scene.me.finish(batch, None)
    second = scene.stored("b")
    assert first != second
    scene.all_is_well()


MUTANTS = [
    mutant(
        "objects are called by their hash",
        a_late_deletion_hits_no_new_object,
        function="fresh_key",
        replace="replace(gen_random_uuid()::text, '-', '')",
        by="repeat('0', 32)",
    ),
    mutant(
        "names are not retired",
        a_name_that_may_come_back_is_retired_until_its_object_is_gone,
        function="release_objects",
        replace="where v_kept = '{}' or n.backend || '/' || n.object_key <> all (v_kept)",
        by="where false",
    ),
    mutant(
        "a bare hash counts as a name of our own",
        a_name_that_may_come_back_is_retired_until_its_object_is_gone,
        function="reusable_names",
        replace="where not (starts_with",
        by="where false and not (starts_with",
    ),
    mutant(
        "the guard of retired names is blind",
        a_name_that_may_come_back_is_retired_until_its_object_is_gone,
        function="require_free_key",
        replace="if exists (select",
        by="if false and exists (select",
    ),
    mutant(
        "what another content names is deleted",
        an_object_that_another_content_names_stays,
        function="release_objects",
        replace="v_kept := …;",
        by="v_kept := '{}';",
    ),
    mutant(
        "what another content has as its key is deleted",
        an_object_that_another_content_has_as_its_key_stays,
        function="names_in_use",
        replace="if exists (select from reaper.content c where c.object_key is not null) then",
        by="if false then",
    ),
    mutant(
        "what another content has as its hash is deleted",
        an_object_that_another_content_names_stays,
        function="names_in_use",
        replace="if p_keys <> p_hashes then",
        by="if false then",
    ),
    mutant(
        "what is the copy of another content is deleted",
        an_object_that_is_the_copy_of_another_content_stays,
        function="names_in_use",
        replace="if exists (select from reaper.object_locations) then",
        by="if false then",
    ),
    mutant(
        "names stay retired for ever",
        a_name_that_may_come_back_is_retired_until_its_object_is_gone,
        function="finish_batch",
        replace="perform …free_names(…);",
    ),
    mutant(
        "names are freed while their deletion is owed",
        a_name_stays_retired_while_its_deletion_is_owed,
        function="free_names",
        replace="and k.object_key <> all (v_owed)",
    ),
    mutant(
        "names are freed whatever is queued",
        a_name_stays_retired_while_its_deletion_is_owed,
        function="free_names",
        replace="not exists (select from reaper.cleanup_queue) and",
    ),
    mutant(
        "names are freed whatever was given up",
        a_name_stays_retired_while_its_deletion_is_given_up,
        function="free_names",
        replace="and not exists (select from reaper.cleanup_dlq)",
    ),
    mutant(
        "the queue frees no name",
        a_retired_name_is_free_when_the_queue_is_done_with_it,
        function="finish_deleted",
        replace="perform …free_names(…);",
    ),
]
