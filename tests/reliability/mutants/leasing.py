"""The lease of a service: one worker at a time, and a lost token changes nothing."""

from tests.support.mutants.mutant import mutant
from tests.support.mutants.scene import Scene

# The scene is one session, which may take its own advisory lock as often as it likes.
LEASE = "select reaper.lease_service('sweep', %s)"
EXTEND = "select reaper.extend_service_lease('sweep', %s)"
RETURN = "select reaper.return_service_lease('sweep', %s)"
RUNS = "select runs from reaper.services where name = 'sweep'"


def begun(scene: Scene) -> None:
    scene.db.execute("select reaper.register_service('sweep', '1 minute', 'for a test')")


def a_leased_service_is_not_leased_again(scene: Scene) -> None:
    begun(scene)
    assert scene.value(LEASE, "one") is not None
    scene.clock.advance("14 seconds")
    assert scene.value(LEASE, "two") is None


def an_expired_lease_is_free(scene: Scene) -> None:
    begun(scene)
    scene.value(LEASE, "one")
    scene.clock.advance("16 seconds")
    assert scene.value(LEASE, "two") is not None


def a_lease_from_the_future_is_free(scene: Scene) -> None:
    begun(scene)
    scene.value(LEASE, "one")
    scene.clock.advance("-1 hour")
    assert scene.value(LEASE, "two") is not None


def a_lost_token_does_nothing(scene: Scene) -> None:
    begun(scene)
    late = scene.value(LEASE, "one")
    scene.clock.advance("16 seconds")
    token = scene.value(LEASE, "two")
    assert not scene.value(EXTEND, late)
    assert not scene.value(RETURN, late)
    with scene.refusal("RP001"):
        scene.value("select reaper.finish_run('sweep', null, 'late', %s)", late)
    with scene.refusal("RP001"):
        scene.value("select reaper.begin_run('sweep', 'one', %s)", late)
    assert scene.value(EXTEND, token)
    assert scene.value(RUNS) == 0


def an_extended_lease_lasts(scene: Scene) -> None:
    begun(scene)
    token = scene.value(LEASE, "one")
    scene.clock.advance("10 seconds")
    scene.value(EXTEND, token)
    scene.clock.advance("10 seconds")
    assert scene.value(LEASE, "two") is None


def a_worker_that_ends_returns_its_leases(scene: Scene) -> None:
    begun(scene)
    scene.value(LEASE, "one")
    scene.value("select reaper.retire_worker('another')")
    assert scene.value(LEASE, "two") is None
    scene.value("select reaper.retire_worker('one')")
    assert scene.value(LEASE, "two") is not None


MUTANTS = [
    mutant(
        "a lease holds nobody off",
        a_leased_service_is_not_leased_again,
        function="lease_service",
        replace="v_service.lease_until > v_now and",
        by="false and",
    ),
    mutant(
        "a lease never expires",
        an_expired_lease_is_free,
        function="lease_service",
        replace="v_service.lease_until > v_now and",
        by="v_service.lease_until is not null and",
    ),
    mutant(
        "a clock that was set back keeps a lease alive",
        a_lease_from_the_future_is_free,
        function="lease_service",
        replace="and v_service.lease_until <= v_now + interval '15 seconds'",
    ),
    mutant(
        "any token extends a lease",
        a_lost_token_does_nothing,
        function="extend_service_lease",
        replace="and s.lease_token = p_token",
    ),
    mutant(
        "an extended lease is not longer",
        an_extended_lease_lasts,
        function="extend_service_lease",
        replace="interval '15 seconds'",
        by="interval '0'",
    ),
    mutant(
        "any token returns a lease",
        a_lost_token_does_nothing,
        function="return_service_lease",
        replace="and s.lease_token = p_token",
    ),
    mutant(
        "any token records a run",
        a_lost_token_does_nothing,
        function="require_service_lease",
        replace="and v_service.lease_token is distinct from p_token",
        by="and v_service.lease_token is null",
    ),
    mutant(
        "a run ends without its lease",
        a_lost_token_does_nothing,
        function="finish_run",
        replace="perform …require_service_lease(p_name, p_token);",
    ),
    mutant(
        "a run begins without its lease",
        a_lost_token_does_nothing,
        function="begin_run",
        replace="perform …require_service_lease(p_name, p_token);",
    ),
    mutant(
        "whoever ends returns the leases of all",
        a_worker_that_ends_returns_its_leases,
        function="retire_worker",
        replace="where s.lease_worker = p_worker",
    ),
]
