"""A drop decides and decrements, and writes down what is to go."""

from tests.support.mutants.mutant import READ_COMMITTED, Edit, Mutant, mutant
from tests.support.mutants.scene import SWALLOW, Scene, from_an_old_snapshot
from tests.support.paste_fixtures import refs

DEFERRED = """
create table likes (short_code text references pastes deferrable initially deferred);
insert into likes values ('bad');
"""
MOVING = """
create function move() returns trigger language plpgsql as $$ begin
    update public.content set size_bytes = size_bytes where content_hash = old.content_hash;
    return null;
end $$;
create trigger move after delete on pastes for each row execute function move();
"""
KEEP_DEAD = """
select c.content_hash, coalesce(c.object_key, c.content_hash) as object_key, c.size_bytes
  from reaper.content c where c.place = any (v_judged.dead_places)
"""


@from_an_old_snapshot
def a_drop_from_an_old_snapshot_is_refused(scene: Scene) -> None:
    scene.due("a")
    scene.db.execute("update pastes set deletion_status = 'DELETION_IN_PROGRESS'")
    batch = scene.value(
        "insert into reaper.batches (batch_id, worker, short_codes, rows_claimed, claimed_at, held_since)"
        " values (gen_random_uuid(), 'me', '{a}', 1, now(), now()) returning batch_id"
    )
    with scene.refusal("RP006"):
        scene.me.drop(batch)


def a_drop_is_on_disk_before_anybody_acts_on_it(scene: Scene) -> None:
    scene.due("a")
    scene.db.execute("set local synchronous_commit = off")
    scene.me.drop(scene.me.claim())
    assert scene.value("select current_setting('synchronous_commit')") == "on"


def a_drop_whose_answer_was_lost_answers_the_same_again(scene: Scene) -> None:
    scene.due("a", "b")
    batch = scene.me.claim()
    first = scene.me.drop(batch)
    assert len(first) == 2
    assert scene.me.drop(batch) == first
    scene.all_is_well()


def what_is_released_is_written_down(scene: Scene) -> None:
    batch = scene.released("a", "b")
    scene.all_is_well()
    keys = scene.column("select unnest(object_keys) from reaper.batches where batch_id = %s", batch)
    assert keys == ["key of of a", "key of of b"]


def only_what_went_is_written_down_as_gone(scene: Scene) -> None:
    scene.due("a", "b")
    batch = scene.me.claim()
    assert scene.writer.extend("a")
    scene.me.drop(batch)
    assert scene.me.finish(batch).rows_deleted == 1
    assert scene.codes() == ["a"]
    scene.all_is_well()


def a_paste_that_was_extended_by_hand_lives_on(scene: Scene) -> None:
    scene.due("a")
    batch = scene.me.claim()
    scene.db.execute("update pastes set expires_at = null")
    scene.me.drop(batch)
    assert (scene.codes(), scene.marked()) == (["a"], [])
    scene.all_is_well()


def a_row_that_was_given_back_is_not_taken(scene: Scene) -> None:
    scene.due("a")
    batch = scene.me.claim()
    scene.db.execute("update pastes set deletion_status = 'NOT_EXPIRED'")
    scene.me.drop(batch)
    assert scene.codes() == ["a"]


def a_row_that_moved_since_the_claim_goes_all_the_same(scene: Scene) -> None:
    scene.due("a")
    batch = scene.me.claim()
    scene.db.execute("update pastes set created_at = created_at - interval '1 day'")
    scene.me.drop(batch)
    assert scene.codes() == []
    scene.all_is_well()


def a_place_that_holds_another_row_by_now_is_not_trusted(scene: Scene) -> None:
    scene.due("a", "b")
    first, second = scene.me.claim(1), scene.me.claim(1)
    scene.db.execute(
        "update reaper.batches b set places = o.places from reaper.batches o"
        " where b.batch_id = %s and o.batch_id = %s",
        [first, second],
    )
    gone = scene.column("select unnest(short_codes) from reaper.batches where batch_id = %s", first)
    scene.me.drop(first)
    assert scene.codes() == sorted({"a", "b"} - set(gone))
    scene.all_is_well()


def a_deletion_that_a_trigger_swallows_blocks_its_row(scene: Scene) -> None:
    scene.due("bad", "good")
    scene.db.execute(SWALLOW.format("delete"))
    scene.me.drop(scene.me.claim())
    assert scene.column("select short_code from reaper.blocked") == ["bad"]
    assert scene.codes() == ["bad"]


def one_bad_row_does_not_stop_the_rest(scene: Scene) -> None:
    scene.due("bad", "good")
    scene.db.execute(DEFERRED)
    scene.me.drop(scene.me.claim())
    scene.db.execute("set constraints all immediate")
    assert scene.codes() == ["bad"]
    scene.all_is_well()


def every_reference_is_subtracted(scene: Scene) -> None:
    scene.due("a", "b", content="same")
    scene.live("c", content="same")
    scene.me.drop(scene.me.claim())
    assert refs(scene.db, "same") == 1
    scene.all_is_well()


def a_count_that_is_too_low_costs_nobody_their_content(scene: Scene) -> None:
    scene.due("a", content="same")
    scene.live("b", "c", content="same")
    scene.db.execute("update content set ref_count = 1")
    scene.me.drop(scene.me.claim())
    assert refs(scene.db, "same") == 2
    assert scene.column("select action from reaper.drift") == ["raised"]
    scene.all_is_well()


def content_that_moved_meanwhile_goes_all_the_same(scene: Scene) -> None:
    scene.due("a", "b", content="same")
    scene.db.execute(MOVING)
    assert [gone.object_key for gone in scene.me.drop(scene.me.claim())] == ["key of same"]
    scene.all_is_well()


def content_that_is_gone_can_be_stored_again_before_its_object_is(scene: Scene) -> None:
    scene.stored("a")
    batch = scene.over("a")
    scene.stored("b")
    scene.all_is_well()
    scene.me.finish(batch)
    assert scene.writer.get("b") is not None
    scene.all_is_well()


def every_copy_goes_with_its_content(scene: Scene) -> None:
    scene.due("a", content="h")
    scene.copy("h", "default", "east")
    gone = scene.me.drop(scene.me.claim())
    assert sorted(one.backend for one in gone) == ["default", "east"]
    scene.all_is_well()


MUTANTS = [
    mutant(
        "a drop takes any snapshot",
        a_drop_from_an_old_snapshot_is_refused,
        function="release_claimed",
        replace=READ_COMMITTED,
    ),
    mutant(
        "a drop may be lost in a crash",
        a_drop_is_on_disk_before_anybody_acts_on_it,
        function="release_claimed",
        replace="perform …commit_durably();",
    ),
    mutant(
        "durable is what the session says",
        a_drop_is_on_disk_before_anybody_acts_on_it,
        function="commit_durably",
        replace="'off', 'local'",
        by="'local'",
    ),
    mutant(
        "a drop is done again when it is asked again",
        a_drop_whose_answer_was_lost_answers_the_same_again,
        function="release_claimed",
        replace="if v_batch.state = 'RELEASED' then",
        by="if false then",
    ),
    mutant(
        "a drop writes no journal",
        what_is_released_is_written_down,
        function="release_claimed",
        replace="object_hashes = …v_objects.sizes,",
    ),
    mutant(
        "a drop does not write down which rows went",
        only_what_went_is_written_down_as_gone,
        function="release_claimed",
        replace="short_codes = v_release.deleted_codes,",
    ),
    mutant(
        "a drop does not look at the expiry again",
        a_paste_that_was_extended_by_hand_lives_on,
        function="release_locked",
        replace="and p.expires_at <= p_now returning",
        by="returning",
    ),
    mutant(
        "a drop does not give back what lives",
        a_paste_that_was_extended_by_hand_lives_on,
        function="release_rows",
        replace="return_rows(array(…), p_statuses)",
        by="return_rows('{}', null)",
    ),
    mutant(
        "a drop does not look at the mark again",
        a_row_that_was_given_back_is_not_taken,
        function="lock_pastes",
        replace="and (p.deletion_status is not distinct from 'DELETION_IN_PROGRESS') = p_marked",
        times=2,
    ),
    mutant(
        "a row that moved is not looked for",
        a_row_that_moved_since_the_claim_goes_all_the_same,
        function="lock_pastes",
        replace="if v_locked.codes is distinct from p_codes then",
        by="if false then",
    ),
    mutant(
        "places are trusted",
        a_place_that_holds_another_row_by_now_is_not_trusted,
        function="lock_pastes",
        replace="if v_locked.codes is distinct from p_codes then",
        by="if v_locked.codes is null then",
    ),
    mutant(
        "a drop believes that what it deleted is gone",
        a_deletion_that_a_trigger_swallows_blocks_its_row,
        function="release_locked",
        replace="v_stuck <> '{}'",
        by="false",
    ),
    mutant(
        "a drop does not hear deferred constraints",
        one_bad_row_does_not_stop_the_rest,
        function="release_claimed",
        replace="set constraints all immediate;",
    ),
    mutant(
        "a drop subtracts one per content",
        every_reference_is_subtracted,
        function="release_contents",
        replace="- s.refs",
        by="- 1",
    ),
    mutant(
        "a drop believes the count",
        a_count_that_is_too_low_costs_nobody_their_content,
        function="release_contents",
        replace="n.expected <= 0 and n.found = 0 as dies",
        by="n.expected <= 0 as dies",
    ),
    mutant(
        "a count that is too low stays so",
        a_count_that_is_too_low_costs_nobody_their_content,
        function="release_contents",
        replace="greatest(j.expected, j.found)",
        by="greatest(j.expected, 0)",
    ),
    mutant(
        "drift is not written down",
        a_count_that_is_too_low_costs_nobody_their_content,
        function="release_contents",
        replace="n.expected < 0 or …(n.found > 0) as drifted",
        by="false as drifted",
    ),
    mutant(
        "content that moved is not looked for",
        content_that_moved_meanwhile_goes_all_the_same,
        function="release_contents",
        replace="if v_rows + …v_judged.contents then",
        by="if false then",
    ),
    Mutant(
        "content goes when the batch is settled",
        content_that_is_gone_can_be_stored_again_before_its_object_is,
        (
            Edit(
                function="release_contents",
                replace="delete from reaper.content c where c.place …c.size_bytes",
                by=KEEP_DEAD,
            ),
            Edit(
                function="finish_batch",
                replace="delete from …batches …;",
                by="… delete from reaper.content c where c.content_hash = any (v_batch.object_hashes);",
            ),
        ),
    ),
    mutant(
        "copies are forgotten",
        every_copy_goes_with_its_content,
        function="release_objects",
        replace="if exists (select from …object_locations) then",
        by="if false then",
    ),
    mutant(
        "copies stay in the account",
        every_copy_goes_with_its_content,
        function="delete_object_locations",
        replace="from taken t group by",
        by="from taken t where false group by",
    ),
    mutant(
        "released bytes are not booked",
        what_is_released_is_written_down,
        function="release_objects",
        replace="unnest(v_objects.backends, v_objects.sizes) as o (…)",
        by="… where false",
    ),
]
