"""Whose bucket it is."""

from tests.support.mutants.mutant import mutant
from tests.support.mutants.scene import Scene

RENAMED = "update reaper.installation set database = 'production'"
MOVED = "update reaper.installation set system_identifier = 1"
ME = "(select installation_id from reaper.installation)"
IS_HERE = "select is_recorded_here from reaper.installation_identity()"
OWNER = "select owner from reaper.backends where name = 'default'"
PROBLEMS = "select count(*) from reaper.ownership_problems()"
VERDICT = "select verdict from reaper.health"


def found(scene: Scene, state: str, backend: str = "default") -> None:
    """A process has compared."""
    scene.db.execute(f"select reaper.record_backend_owner(%s, {ME}, %s, 'marker')", [backend, state])


def a_copy_is_not_at_home(scene: Scene) -> None:
    for change in (RENAMED, MOVED):
        with scene.db.transaction(force_rollback=True):
            scene.db.execute(change)
            assert not scene.value(IS_HERE)


def a_copy_needs_attention_before_anybody_looked(scene: Scene) -> None:
    scene.db.execute(RENAMED)
    assert scene.value(PROBLEMS) == 1
    assert scene.value(VERDICT) == "attention"


def a_foreign_bucket_needs_attention(scene: Scene) -> None:
    found(scene, "other")
    assert scene.value(PROBLEMS) == 1
    assert scene.value(VERDICT) == "attention"


def what_the_original_found_says_nothing_in_a_copy(scene: Scene) -> None:
    found(scene, "ours")
    scene.db.execute(RENAMED)
    scene.db.execute("update reaper.backend_owners set database = 'production'")
    assert scene.value(OWNER) == "not checked"
    assert scene.value(PROBLEMS) == 1


def a_late_comparison_under_the_former_identity_is_not_recorded(scene: Scene) -> None:
    former = scene.value(f"select {ME}")
    scene.db.execute("select reaper.renew_installation('a clone')")
    scene.db.execute("select reaper.record_backend_owner('default', %s, 'ours', 'marker')", [former])
    assert scene.value(OWNER) == "not checked"


def a_changed_owner_is_recorded_at_once(scene: Scene) -> None:
    found(scene, "ours")
    found(scene, "other")
    assert scene.value(OWNER) == "other"


def a_take_over_brings_the_database_home_with_a_reason_and_a_trace(scene: Scene) -> None:
    scene.db.execute(RENAMED)
    with scene.refusal("RP005"):
        scene.db.execute("select reaper.record_take_over('default', null, '')")
    with scene.refusal("RP005"):
        scene.db.execute("select reaper.record_take_over('nowhere', null, 'moved')")
    before = scene.value(f"select {ME}")
    scene.db.execute("select reaper.record_take_over('default', null, 'moved')")
    assert scene.value(IS_HERE)
    assert scene.value(f"select {ME}") == before
    assert scene.column("select action from reaper.audit") == ["record_take_over"]


def a_clone_gets_an_identity_of_its_own_with_a_reason_and_a_trace(scene: Scene) -> None:
    before = scene.value(f"select {ME}")
    with scene.refusal("RP005"):
        scene.db.execute("select reaper.renew_installation('')")
    scene.db.execute("select reaper.renew_installation('a clone')")
    assert scene.value(f"select {ME}") != before
    assert scene.column("select action from reaper.audit") == ["renew_installation"]


def who_the_owner_is_is_on_disk_before_anything_follows_from_it(scene: Scene) -> None:
    for call in ("record_take_over('default', null, 'moved')", "renew_installation('a clone')"):
        scene.db.execute("set local synchronous_commit = off")
        scene.db.execute(f"select reaper.{call}")
        assert scene.value("select current_setting('synchronous_commit')") == "on"


def new_bytes_go_where_the_bucket_is_ours(scene: Scene) -> None:
    scene.db.execute("select reaper.register_backend('east')")
    found(scene, "other")
    assert scene.writer.begin().backend == "east"


MUTANTS = [
    mutant(
        "a renamed database is at home",
        a_copy_is_not_at_home,
        function="installation_identity",
        replace="(i.database, i.system_identifier) = (current_database()::text, c.system_identifier)",
        by="i.system_identifier = c.system_identifier",
    ),
    mutant(
        "a database on another server is at home",
        a_copy_is_not_at_home,
        function="installation_identity",
        replace="(i.database, i.system_identifier) = (current_database()::text, c.system_identifier)",
        by="i.database = current_database()::text",
    ),
    mutant(
        "a copy is well until somebody has looked",
        a_copy_needs_attention_before_anybody_looked,
        function="ownership_problems",
        replace="or (o.state is null and not i.is_recorded_here)",
    ),
    mutant(
        "a foreign bucket is no problem",
        a_foreign_bucket_needs_attention,
        function="ownership_problems",
        replace="o.state = 'other' or",
    ),
    mutant(
        "a copy believes what the original found",
        what_the_original_found_says_nothing_in_a_copy,
        function="ownership_problems",
        replace="and (o.installation_id, …) = (i.installation_id, i.database, i.system_identifier)",
    ),
    mutant(
        "what was found under another identity is recorded",
        a_late_comparison_under_the_former_identity_is_not_recorded,
        function="record_backend_owner",
        replace="where i.installation_id = p_installation_id",
    ),
    mutant(
        "a new owner is recorded a minute later",
        a_changed_owner_is_recorded_at_once,
        function="record_backend_owner",
        replace="where (o.state, … or o.checked_at",
        by="where o.checked_at",
    ),
    mutant(
        "a bucket is taken over without reason",
        a_take_over_brings_the_database_home_with_a_reason_and_a_trace,
        function="record_take_over",
        replace="perform reaper_internal.require_reason(p_reason);",
    ),
    mutant(
        "an unknown backend is taken over",
        a_take_over_brings_the_database_home_with_a_reason_and_a_trace,
        function="record_take_over",
        replace="perform reaper_internal.lock_backend(p_backend);",
    ),
    mutant(
        "a bucket changes hands without a trace",
        a_take_over_brings_the_database_home_with_a_reason_and_a_trace,
        function="record_take_over",
        replace="perform reaper_internal.record_audit(…);",
    ),
    mutant(
        "a take-over changes who the installation is",
        a_take_over_brings_the_database_home_with_a_reason_and_a_trace,
        function="record_take_over",
        replace="record_installation(null)",
        by="record_installation(gen_random_uuid())",
    ),
    mutant(
        "a moved database does not come home",
        a_take_over_brings_the_database_home_with_a_reason_and_a_trace,
        function="record_installation",
        replace="database = excluded.database,",
    ),
    mutant(
        "a clone keeps the identity of the original",
        a_clone_gets_an_identity_of_its_own_with_a_reason_and_a_trace,
        function="renew_installation",
        replace="record_installation(gen_random_uuid())",
        by="record_installation(null)",
    ),
    mutant(
        "an identity is renewed without reason",
        a_clone_gets_an_identity_of_its_own_with_a_reason_and_a_trace,
        function="renew_installation",
        replace="perform reaper_internal.require_reason(p_reason);",
    ),
    mutant(
        "an identity is renewed without a trace",
        a_clone_gets_an_identity_of_its_own_with_a_reason_and_a_trace,
        function="renew_installation",
        replace="perform reaper_internal.record_audit(…);",
    ),
    mutant(
        "a crash forgets a take-over whose marker is written",
        who_the_owner_is_is_on_disk_before_anything_follows_from_it,
        function="record_take_over",
        replace="perform reaper_internal.commit_durably();",
    ),
    mutant(
        "a crash brings the former identity of a clone back",
        who_the_owner_is_is_on_disk_before_anything_follows_from_it,
        function="renew_installation",
        replace="perform reaper_internal.commit_durably();",
    ),
    mutant(
        "new bytes are sent to a foreign bucket",
        new_bytes_go_where_the_bucket_is_ours,
        function="choose_backend",
        replace="coalesce(o.state, 'ours') = 'ours' desc,",
    ),
]
