"""Lifecycle rules: pastes become due by code, size and age, and nothing else does."""

import pytest

from tests.support.paste_fixtures import codes, column, record, refused, value
from tests.support.query_plans import flat, pages, read_whole, watched

INDEX = "create index pastes_created on pastes (created_at, short_code)"


@pytest.fixture
def aged(db, paste):
    """Pastes of a content each, created so many days ago."""
    db.execute(INDEX)
    db.execute("alter table pastes alter created_at drop not null")

    def make(days: int | None, *names: str, **more) -> None:
        for name in names:
            paste(name, **{"content": f"of {name}", "expires": "1 year", **more})
            db.execute(
                "update pastes set created_at = reaper.clock() - make_interval(days => %s)"
                " where short_code = %s",
                [days, name],
            )

    return make


@pytest.fixture
def rule(db):
    """Adds and enables a rule."""

    def add(name="old", days=30, **filters) -> str:
        db.execute(
            "select reaper.add_lifecycle_rule(p_name => %s, p_prefix => %s, p_min_size => %s,"
            " p_max_size => %s, p_expiration_days => %s, p_enabled => true)",
            [name, filters.get("prefix"), filters.get("min_size"), filters.get("max_size"), days],
        )
        return name

    return add


@pytest.fixture
def apply(me):
    """One page of a rule: (looked at, expired, skipped, refused, complete)."""
    return lambda name="old", *limit: tuple(me.call("apply_lifecycle_rule", name, *limit)[0])


def due(db) -> set[str]:
    return set(column(db, "select short_code from pastes where expires_at <= reaper.clock()"))


def plan(db, name="old"):
    return record(db, "select * from reaper.plan_lifecycle_rule(%s)", name)


def test_a_rule_needs_an_index_a_filter_and_an_age_and_says_what_to_do(db):
    add = "select reaper.add_lifecycle_rule('old', 'log-', p_expiration_days => 30)"
    with refused("RP005", "no valid index led by created_at") as caught:
        db.execute(add)
    hint = caught.value.diag.message_hint
    assert hint == "create index concurrently on public.pastes (created_at, short_code);"
    db.execute(hint)
    db.execute(add)
    with refused("RP005", "a rule of this name exists"):
        db.execute(add)
    for arguments, message in {
        "'all', p_expiration_days => 1": "no filter",
        "'all', '', p_expiration_days => 1": "the prefix is empty",
        "'all', 'log-'": "invalid expiration_days: null",
        "'all', 'log-', p_expiration_days => 0": "invalid expiration_days: 0",
        "'all', p_min_size => 2, p_max_size => 1, p_expiration_days => 1": "larger than max_size",
        "'all', p_min_size => -1, p_expiration_days => 1": "invalid min_size",
        "'no name', 'log-', p_expiration_days => 1": "invalid rule name",
    }.items():
        with refused("RP005", message):
            db.execute(f"select reaper.add_lifecycle_rule({arguments})")
    with refused("RP005", "there is no lifecycle rule none"):
        db.execute("select reaper.enable_lifecycle_rule('none')")
    db.execute("drop index pastes_created_at_short_code_idx")
    with refused("RP005", "no valid index"):
        db.execute("select reaper.enable_lifecycle_rule('old')")
    problems = value(db, "select problems from reaper.lifecycle where name = 'old'")
    assert len(problems) == 1


def test_an_index_that_would_have_to_be_sorted_does_not_count(db):
    db.execute(INDEX)
    assert db.execute("select * from reaper.lifecycle_problems()").fetchall() == []
    db.execute("drop index pastes_created; create index on pastes (created_at desc nulls last)")
    assert "created_at" in value(db, "select problem from reaper.lifecycle_problems()")


def test_only_old_pastes_that_match_become_due_and_the_drain_deletes_what_the_plan_said(
    db, aged, rule, apply, drain
):
    aged(40, "log-a", "log-b", "x-a")
    aged(20, "log-young")
    aged(None, "log-timeless", "x-timeless")
    aged(40, "log-shared", content="shared", size=7)
    aged(40, "x-shared", content="shared", size=7)
    aged(40, "log-due", expires="-1 minute")
    rule(prefix="log-")
    planned = plan(db)
    assert (planned.rows_matching, planned.rows_without_time) == (3, 1)
    assert (planned.objects_freed, planned.bytes_freed, planned.objects_kept) == (2, 20, 1)
    assert apply() == (6, 3, 0, 0, True)
    assert due(db) == {"log-a", "log-b", "log-shared", "log-due"}
    owed = column(db, "select short_code from reaper.invalidations order by 1")
    assert owed == ["log-a", "log-b", "log-shared"]
    assert drain() == {"key of of log-a", "key of of log-b", "key of of log-due"}
    assert codes(db) == {"x-a", "log-young", "log-timeless", "x-timeless", "x-shared"}
    assert plan(db).rows_matching == 0
    seen = record(db, "select last_expired, is_in_pass, last_pass_at from reaper.lifecycle")
    assert (seen.last_expired, seen.is_in_pass) == (3, False)


def test_sizes_are_those_of_the_copies_and_an_unknown_size_matches_nothing(db, aged, rule, apply, copy):
    aged(40, "small", size=5)
    aged(40, "large", size=50)
    aged(40, "unsized", size=0)
    aged(40, "empty", size=0)
    copy("of empty", "default")
    rule("tiny", max_size=10)
    rule("big", min_size=50)
    rule("both", prefix="s", min_size=5, max_size=5)
    assert plan(db, "both").rows_matching == plan(db, "big").rows_matching == 1
    assert plan(db, "tiny").rows_matching == 2
    assert apply("tiny")[:2] == (4, 2)
    assert due(db) == {"small", "empty"}
    assert apply("big")[:2] == (4, 1)
    assert apply("both")[:2] == (4, 0)
    assert due(db) == {"small", "empty", "large"}


def test_pages_go_on_where_the_last_ended_and_end_with_the_last_row(db, aged, rule, apply):
    aged(40, *(f"log-{n}" for n in range(5)))
    db.execute("update pastes set created_at = (select min(created_at) from pastes)")
    aged(40, "other")
    rule(prefix="log-")
    assert [apply("old", 2) for _ in range(4)] == [
        (2, 2, 0, 0, False),
        (2, 2, 0, 0, False),
        (2, 1, 0, 0, False),
        (0, 0, 0, 0, True),
    ]
    assert value(db, "select last_expired from reaper.lifecycle") == 5
    db.execute("select reaper.disable_lifecycle_rule('old')")
    aged(40, "log-late")
    assert apply() == (0, 0, 0, 0, True)
    db.execute("select reaper.remove_lifecycle_rule('old')")
    with refused("RP005", "there is no lifecycle rule old"):
        apply()


def test_rows_that_others_hold_are_skipped_and_what_they_overwrote_survives(db, aged, rule, apply, connect):
    aged(40, "log-held", "log-free")
    rule(prefix="log-")
    other = connect(dbname=db.info.dbname, autocommit=False)
    other.execute("update pastes set created_at = now() where short_code = 'log-held'")
    assert apply() == (2, 1, 1, 0, True)
    other.commit()
    assert apply() == (1, 0, 0, 0, True)
    assert due(db) == {"log-free"}


def test_an_extension_after_the_look_is_respected_and_revives_what_is_due(db, aged, rule, apply, drain):
    aged(40, "log-a")
    rule(prefix="log-")
    apply()
    db.execute("select reaper.extend_paste('log-a', null)")
    assert drain() == set()
    assert codes(db) == {"log-a"}


def test_a_row_that_a_trigger_refuses_stops_no_other(db, aged, rule, apply):
    aged(40, "log-a", "log-bad", "log-c")
    db.execute(
        """create function no() returns trigger language plpgsql as $$ begin
               if old.short_code = 'log-bad' then raise exception 'no'; end if; return new; end $$;
           create trigger no before update on pastes for each row execute function no()"""
    )
    rule(prefix="log-")
    assert apply() == (3, 2, 0, 1, True)
    assert due(db) == {"log-a", "log-c"}


def test_a_page_reads_as_little_of_a_large_table_as_of_a_small_one(db, paste, rule, connect):
    db.execute("create index pastes_created on pastes (created_at)")
    rule(prefix="p", max_size=5)
    query = "select * from reaper.apply_lifecycle_rule('old', 100)"
    read = {}
    for size in (500, 5000):
        paste.many(f"p{size}", size, expires="1 year")
        db.execute("update pastes set created_at = now() - interval '40 days' + random() * interval '1 day'")
        db.execute("vacuum analyze pastes")
        with db.transaction(force_rollback=True):
            read[size] = pages(db, query)
    assert flat(read[500], read[5000]), read
    looker = connect(dbname=db.info.dbname)
    plans = watched(looker)
    looker.execute(query)
    assert read_whole(plans, ("pastes", "content", "object_locations")) == {}
