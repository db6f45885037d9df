"""Deletions that wait for a standby, so that a failover brings nothing back whose object is gone."""

from tests.support.mutants.mutant import mutant
from tests.support.mutants.scene import Scene


def nothing_is_deleted_under_a_token_that_is_gone(scene: Scene) -> None:
    batch = scene.released("a")
    scene.me.finish(batch)
    with scene.refusal("RP001"):
        scene.me.call("await_standby", batch)


def nothing_is_deleted_before_the_standby_has_the_release(scene: Scene) -> None:
    batch = scene.released("a")
    scene.db.execute("update reaper.settings set wait_for_standby = 'second'")
    assert scene.me.call("await_standby", batch)[0].await_standby is not None


def nothing_is_deleted_while_no_standby_is_connected(scene: Scene) -> None:
    batch = scene.released("a")
    scene.db.execute("update reaper.settings set wait_for_standby = '*'")
    assert scene.me.call("await_standby", batch)[0].await_standby is not None


MUTANTS = [
    mutant(
        "the token is not looked for before a deletion",
        nothing_is_deleted_under_a_token_that_is_gone,
        function="await_standby",
        replace="if not exists (select",
        by="if false and not exists (select",
    ),
    mutant(
        "standbys are not waited for",
        nothing_is_deleted_before_the_standby_has_the_release,
        function="await_standby",
        replace="standby_has(v_lsn) then",
        by="standby_has(v_lsn) and false then",
    ),
    mutant(
        "a standby that is away counts as one that has all",
        nothing_is_deleted_before_the_standby_has_the_release,
        function="standby_has",
        replace="and not exists (select",
        by="and false and not exists (select",
    ),
    mutant(
        "no standby counts as all of them",
        nothing_is_deleted_while_no_standby_is_connected,
        function="standby_has",
        replace="as b), false)",
        by="as b), true)",
    ),
]
