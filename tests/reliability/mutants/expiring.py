"""Pastes that become due by lifecycle rules."""

from tests.support.mutants.mutant import mutant
from tests.support.mutants.scene import Scene

RULE = """
create index on pastes (created_at, short_code);
alter table pastes alter created_at drop not null;
select reaper.add_lifecycle_rule('old', 'log-', p_expiration_days => 30, p_enabled => true);
"""
# As if the rows had been looked at before they were changed.
LATE = """
select expired from reaper.lifecycle_rules r
 cross join reaper_internal.expire_matching(
     r, array['log-a'], array[{}::timestamptz], reaper.clock() - interval '30 days', reaper.clock())
"""


def aged(scene: Scene, *codes: str) -> None:
    """Pastes without an end, created long ago, and a rule about their kind."""
    for code in codes:
        scene.paste(code, content=f"of {code}", expires=None)
    scene.db.execute("update pastes set created_at = reaper.clock() - interval '40 days'")
    scene.db.execute(RULE)


def expired(scene: Scene) -> list[str]:
    """What is due after a page."""
    scene.me.call("apply_lifecycle_rule", "old")
    return scene.column("select short_code from pastes where expires_at <= reaper.clock()")


def only_what_matches_becomes_due_and_its_entry_is_owed(scene: Scene) -> None:
    aged(scene, "log-a", "other", "log-young", "log-timeless")
    scene.db.execute("update pastes set created_at = reaper.clock() where short_code = 'log-young'")
    scene.db.execute("update pastes set created_at = null where short_code = 'log-timeless'")
    assert expired(scene) == ["log-a"]
    assert scene.owed_entries() == ["log-a"]
    scene.all_is_well()


def what_was_overwritten_since_the_look_survives(scene: Scene) -> None:
    aged(scene, "log-a")
    scene.db.execute("update pastes set created_at = reaper.clock()")
    assert scene.value(LATE.format("null")) == []


def what_was_extended_since_the_look_survives(scene: Scene) -> None:
    aged(scene, "log-a")
    assert scene.value(LATE.format("'2100-01-01'")) == []


def what_is_due_stays_due_at_its_time(scene: Scene) -> None:
    aged(scene, "log-a")
    scene.db.execute("update pastes set expires_at = '2020-01-01'")
    expired(scene)
    assert scene.value("select expires_at = '2020-01-01' from pastes")
    assert scene.owed_entries() == []


def nothing_becomes_due_by_a_rule_that_is_off(scene: Scene) -> None:
    aged(scene, "log-a")
    scene.db.execute("select reaper.disable_lifecycle_rule('old')")
    assert expired(scene) == []


MUTANTS = [
    mutant(
        "the rule is not tested again under the lock",
        what_was_overwritten_since_the_look_survives,
        function="expire_matching",
        replace="v_locked := array(select m.short_code…);",
    ),
    mutant(
        "an extension since the look is not seen",
        what_was_extended_since_the_look_survives,
        function="expire_matching",
        replace="and l.expires_at is not distinct from m.expires_at",
    ),
    mutant(
        "the age is not asked",
        only_what_matches_becomes_due_and_its_entry_is_owed,
        function="apply_lifecycle_rule",
        replace="make_interval(days => v_rule.expiration_days)",
        by="interval '-1 day'",
    ),
    mutant(
        "the prefix is not asked",
        only_what_matches_becomes_due_and_its_entry_is_owed,
        function="matches_rule",
        replace="starts_with(p_short_code, (p_rule).prefix)",
        by="true",
    ),
    mutant(
        "cache entries are not owed",
        only_what_matches_becomes_due_and_its_entry_is_owed,
        function="apply_lifecycle_rule",
        replace="perform reaper_internal.enqueue_invalidations(v_done.expired, v_now);",
    ),
    mutant(
        "what is due becomes due anew",
        what_is_due_stays_due_at_its_time,
        function="matching_pastes",
        replace="and (p.expires_at is null or p.expires_at > p_now)",
    ),
    mutant(
        "a rule that is off is applied",
        nothing_becomes_due_by_a_rule_that_is_off,
        function="apply_lifecycle_rule",
        replace="and r.enabled",
    ),
]
