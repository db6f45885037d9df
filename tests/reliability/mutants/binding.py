"""Bound tables: nothing is claimed or released through a view that reads another table."""

from tests.support.mutants.mutant import Edit, Mutant, mutant
from tests.support.mutants.scene import Scene

SWAP = """
    create table pastes_new (like pastes including all);
    insert into pastes_new select * from pastes;
    update pastes_new set expires_at = null, deletion_status = 'NOT_EXPIRED';
    alter table pastes rename to pastes_old;
    alter table pastes_new rename to pastes;
    grant select, insert, update, delete on pastes to reaper_owner;
"""
EXPRESSION = """
    select reaper.unbind();
    update reaper.bindings
       set columns = columns - 'object_key', key_expression = '''objects/'' || content_hash'
     where name = 'content';
    select reaper.bind();
"""


def content_is_there(scene: Scene) -> None:
    """Every paste of the application's table has its content."""
    lost = "select from pastes p left join content c using (content_hash) where c.content_hash is null"
    assert scene.db.execute(lost).fetchall() == []


def a_swapped_table_is_not_claimed_from(scene: Scene) -> None:
    scene.due("a", content="h")
    scene.db.execute(SWAP)
    with scene.refusal("RP010"):
        scene.me.claim()


def what_was_claimed_before_a_swap_is_not_released(scene: Scene) -> None:
    scene.due("a", content="h")
    batch = scene.me.claim()
    scene.db.execute(SWAP)
    with scene.refusal("RP010"):
        scene.me.drop(batch)
    content_is_there(scene)


def content_of_a_swapped_table_is_not_collected(scene: Scene) -> None:
    scene.db.execute("insert into content (content_hash, created_at) values ('h', now() - interval '1 year')")
    scene.db.execute(SWAP)
    scene.db.execute("insert into pastes (short_code, content_hash) values ('a', 'h')")
    with scene.refusal("RP010"):
        scene.me.call("collect_unreferenced")
    content_is_there(scene)


def a_claim_holds_the_table_before_it_reads_the_view(scene: Scene) -> None:
    """Nothing is due, so what is locked as a writer would was locked beforehand."""
    assert scene.me.call("claim_expired") == []
    held = "select relation::regclass::text from pg_locks where pid = pg_backend_pid() and mode = %s"
    assert "pastes" in scene.column(held, "RowExclusiveLock")


def without_its_foreign_key_nothing_is_claimed(scene: Scene) -> None:
    scene.due("a", content="h")
    scene.db.execute("alter table pastes drop constraint pastes_content_hash_fkey")
    with scene.refusal("RP010"):
        scene.me.claim()


def where_no_object_was_found_nothing_is_claimed(scene: Scene) -> None:
    scene.due("a", content="h")
    scene.db.execute("update reaper.bindings set keys_confirmed = false where name = 'content'")
    with scene.refusal("RP010"):
        scene.me.claim()


def a_lost_right_blocks_no_row(scene: Scene) -> None:
    scene.due("a", content="h")
    batch = scene.me.claim()
    scene.db.execute("revoke delete on pastes from reaper_owner")
    with scene.refusal("RP010"):
        scene.me.drop(batch)
    assert scene.db.execute("select * from reaper.blocked").fetchall() == []


def a_retired_expression_is_guarded(scene: Scene) -> None:
    scene.db.execute(EXPRESSION)
    scene.db.execute("insert into reaper.retired_keys values ('objects/h', now())")
    with scene.refusal("RP004"):
        scene.db.execute("insert into content (content_hash) values ('h')")


def no_content_is_created_under_an_expression(scene: Scene) -> None:
    scene.db.execute(EXPRESSION)
    with scene.refusal("RP009"):
        scene.db.execute("select reaper.begin_put('a', 'h', 10)")


MUTANTS = [
    mutant(
        "a claim does not ask for the binding",
        a_swapped_table_is_not_claimed_from,
        function="claim_expired",
        replace="perform …require_binding('{pastes}');",
    ),
    mutant(
        "the views are read before the tables are locked",
        a_claim_holds_the_table_before_it_reads_the_view,
        function="require_binding",
        replace="perform …lock_bound_tables(p_locked);",
    ),
    mutant(
        "a drop does not ask for the binding",
        what_was_claimed_before_a_swap_is_not_released,
        function="release_claimed",
        replace="perform …require_binding();",
    ),
    mutant(
        "unreferenced content is collected whatever the views read",
        content_of_a_swapped_table_is_not_collected,
        function="collect_unreferenced",
        replace="perform …require_binding();",
    ),
    mutant(
        "a view that reads another table is no problem",
        a_swapped_table_is_not_claimed_from,
        function="binding_problems",
        replace="where b.base is not null and b.wanted is distinct from b.base",
        by="where false",
    ),
    mutant(
        "the foreign key is not asked for",
        without_its_foreign_key_nothing_is_claimed,
        function="binding_problems",
        replace="where p.name = 'pastes'",
        by="where false",
    ),
    mutant(
        "keys that were not found do not matter",
        where_no_object_was_found_nothing_is_claimed,
        function="key_problems",
        replace="where b.keys_confirmed is false",
        by="where false",
    ),
    Mutant(
        "a right that is missing blocks the rows",
        a_lost_right_blocks_no_row,
        (
            Edit(
                "binding_problems",
                "where not has_table_privilege('reaper_owner', t.base, r.privilege)",
                "where false",
            ),
            Edit("require_kept_rights", "perform …require_rights('pastes', '{DELETE}');"),
        ),
    ),
    mutant(
        "a key that is an expression is read as the hash",
        a_retired_expression_is_guarded,
        function="key_of_row",
        replace="if p_made_by = 'column' then",
        by="if true then",
    ),
    mutant(
        "content is created under an expression",
        no_content_is_created_under_an_expression,
        function="begin_put",
        replace="perform …require_key_column();",
    ),
]
