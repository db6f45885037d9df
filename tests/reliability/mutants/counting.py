"""Byte accounts, and content that nobody names."""

from tests.support.mutants.mutant import mutant
from tests.support.mutants.scene import Scene
from tests.support.paste_fixtures import owe


def folding_changes_no_sum(scene: Scene) -> None:
    scene.stored("a")
    owe(scene.db, "k")
    scene.writer.begin("b", "g")
    scene.me.call("fold_accounts")
    scene.all_is_well()


def content_that_somebody_names_is_not_collected(scene: Scene) -> None:
    scene.live("a")
    scene.db.execute("update content set created_at = '2020-01-01'")
    answer = scene.me.call("collect_unreferenced")[0]
    assert (answer.collected, answer.refused) == (0, 0)


def content_that_is_young_is_not_collected(scene: Scene) -> None:
    scene.db.execute("insert into content (content_hash, object_key) values ('h', 'k')")
    assert scene.me.call("collect_unreferenced")[0].collected == 0


def what_is_collected_is_written_down(scene: Scene) -> None:
    scene.db.execute(
        "insert into content (content_hash, object_key, size_bytes, created_at)"
        " values ('h', 'k', 10, '2020-01-01')"
    )
    assert scene.me.call("collect_unreferenced")[0].collected == 1
    scene.all_is_well()
    assert scene.adopted() == ["k"]


MUTANTS = [
    mutant(
        "folding loses orphans",
        folding_changes_no_sum,
        function="fold_accounts",
        replace="sum(g.orphan_bytes)",
        by="0",
    ),
    mutant(
        "folding forgets what it deleted",
        folding_changes_no_sum,
        function="fold_accounts",
        replace="from gone g group by",
        by="from gone g where false group by",
    ),
    mutant(
        "content that a paste names is collected",
        content_that_somebody_names_is_not_collected,
        function="unreferenced_among",
        replace="and not exists (select …)",
    ),
    mutant(
        "young content is collected",
        content_that_is_young_is_not_collected,
        function="unreferenced_among",
        replace="and coalesce(c.created_at…p_before",
    ),
    mutant(
        "what is collected is not written down",
        what_is_collected_is_written_down,
        function="collect_unreferenced",
        replace="v_objects.hashes <> '{}'",
        by="false",
    ),
]
