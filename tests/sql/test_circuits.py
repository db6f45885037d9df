"""Circuits: failures of all processes together open them, one probe at a time closes them again."""

import threading
from uuid import uuid4

import pytest

from tests.support.paste_fixtures import record, refused, value

CIRCUIT = "select * from reaper.circuits where backend = 'b2'"


@pytest.fixture(autouse=True)
def tuned(db, clock):
    """Three failures are enough, and time stands still unless a test moves it."""
    clock.stop()
    db.execute("update reaper.settings set circuit_failures = 3, circuit_pause = '30 seconds'")


def fail(db, times=1, error="ConnectTimeout: no answer", backend="b2") -> str:
    """The state after the last of so many failures."""
    return [value(db, "select reaper.record_backend_failure(%s, %s)", backend, error) for _ in range(times)][
        -1
    ]


def succeed(db) -> bool:
    return value(db, "select reaper.record_backend_success('b2')")


def claim_probe(db):
    return value(db, "select reaper.claim_probe('b2')")


def finish_probe(db, probe, error=None) -> bool:
    return value(db, "select reaper.finish_probe('b2', %s, %s)", probe, error)


def states(db) -> dict[str, str]:
    return dict(db.execute("select backend, state from reaper.circuit_states()").fetchall())


def pause(db) -> float:
    """The seconds until the next probe may go."""
    return value(
        db, "select extract(epoch from retry_at - reaper.clock()) from reaper.circuits where backend = 'b2'"
    )


def failed_probe(db, clock) -> float:
    """The pause after one more probe that failed."""
    clock.advance("12 minutes")
    assert finish_probe(db, claim_probe(db), "still away")
    return float(pause(db))


def test_a_backend_without_trouble_has_no_row(db):
    assert succeed(db) is False
    assert states(db) == {}


def test_so_many_failures_in_a_row_open_it_and_the_last_one_is_remembered(db):
    assert fail(db, 2) == "closed"
    assert fail(db, error="EndpointConnectionError: refused") == "open"
    circuit = record(db, CIRCUIT)
    assert (circuit.failures, circuit.trips, circuit.last_error) == (3, 1, "EndpointConnectionError: refused")
    assert 24 <= pause(db) <= 36


def test_one_failure_is_enough_where_a_dba_says_so(db):
    db.execute("update reaper.settings set circuit_failures = 1")
    assert fail(db) == "open"


def test_a_success_between_them_begins_the_row_anew(db):
    fail(db, 2)
    assert succeed(db) is False
    assert fail(db, 2) == "closed"
    assert fail(db) == "open"


def test_another_backend_is_not_concerned(db):
    fail(db, 3)
    fail(db, 2, backend="b1")
    assert states(db) == {"b1": "closed", "b2": "open"}


def test_failures_that_come_in_late_do_not_lengthen_the_pause(db):
    fail(db, 3)
    before = record(db, CIRCUIT)
    assert fail(db, 20) == "open"
    assert record(db, CIRCUIT) == before


def test_failures_that_come_in_late_do_not_disturb_the_probe(db, clock):
    fail(db, 3)
    clock.advance("1 minute")
    probe = claim_probe(db)
    assert fail(db, 5) == "half_open"
    assert finish_probe(db, probe) is True
    assert states(db) == {"b2": "closed"}


def test_an_answer_closes_it_also_while_it_is_open(db):
    fail(db, 3)
    assert succeed(db) is True
    circuit = record(db, CIRCUIT)
    assert (circuit.state, circuit.failures, circuit.trips, circuit.retry_at) == ("closed", 0, 0, None)
    assert circuit.last_error == "ConnectTimeout: no answer"


def test_an_answer_makes_the_probe_unnecessary(db, clock):
    fail(db, 3)
    clock.advance("1 minute")
    probe = claim_probe(db)
    assert succeed(db) is True
    assert finish_probe(db, probe, "timeout") is False
    assert states(db) == {"b2": "closed"}


def test_a_success_with_nothing_to_reset_writes_nothing(db):
    fail(db)
    succeed(db)
    before = value(db, "select xmin from reaper.circuits")
    assert succeed(db) is False
    assert value(db, "select xmin from reaper.circuits") == before


def test_no_probe_goes_before_the_pause_is_over(db, clock):
    fail(db, 3)
    assert claim_probe(db) is None
    clock.advance("23 seconds")
    assert claim_probe(db) is None
    clock.advance("13 seconds")
    assert claim_probe(db) is not None
    assert states(db) == {"b2": "half_open"}


def test_a_closed_circuit_is_not_probed(db):
    fail(db)
    assert claim_probe(db) is None
    assert value(db, "select reaper.claim_probe('never seen')") is None


def test_a_probe_that_is_answered_closes_it(db, clock):
    fail(db, 3)
    clock.advance("1 minute")
    assert finish_probe(db, claim_probe(db)) is True
    circuit = record(db, CIRCUIT)
    assert (circuit.state, circuit.failures, circuit.trips) == ("closed", 0, 0)
    assert fail(db) == "closed", "the row of failures begins anew"


def test_the_pause_doubles_with_every_probe_that_fails_up_to_ten_minutes(db, clock):
    fail(db, 3)
    pauses = [failed_probe(db, clock) for _ in range(8)]
    for number, seconds in enumerate(pauses, start=1):
        expected = min(30 * 2**number, 600)
        assert 0.79 * expected <= seconds <= 1.21 * expected
    assert record(db, CIRCUIT).trips == 9


def test_the_pauses_are_spread_so_that_processes_do_not_come_together(db, clock):
    fail(db, 3)
    assert len({failed_probe(db, clock) for _ in range(10)}) > 5


def test_a_thousand_failed_probes_are_no_longer_a_pause_than_ten(db, clock):
    fail(db, 3)
    db.execute("update reaper.circuits set trips = 100000")
    assert failed_probe(db, clock) <= 720


def test_a_pause_longer_than_ten_minutes_is_what_the_dba_wanted(db):
    db.execute("update reaper.settings set circuit_pause = '1 hour'")
    fail(db, 3)
    assert pause(db) >= 2880


def test_a_stale_token_changes_nothing(db, clock):
    fail(db, 3)
    clock.advance("1 minute")
    late = claim_probe(db)
    clock.advance("3 minutes")
    assert value(db, "select reaper.reset_stale_probes()") == 1
    probe = claim_probe(db)
    before = record(db, CIRCUIT)
    for token in (late, uuid4(), None):
        assert finish_probe(db, token) is False
        assert finish_probe(db, token, "timeout") is False
    assert record(db, CIRCUIT) == before
    assert finish_probe(db, probe) is True


def test_a_probe_that_is_lost_is_reset_and_the_next_may_go_at_once(db, clock):
    fail(db, 3)
    clock.advance("1 minute")
    claim_probe(db)
    clock.advance("1 minute 59 seconds")
    assert value(db, "select reaper.reset_stale_probes()") == 0
    clock.advance("1 second")
    assert value(db, "select reaper.reset_stale_probes()") == 1
    assert record(db, CIRCUIT).trips == 1
    assert claim_probe(db) is not None


@pytest.mark.parametrize("age", [None, "-1 second"])
def test_a_stale_probe_has_an_age(db, age):
    with refused("RP005"):
        db.execute("select reaper.reset_stale_probes(%s)", [age])


def test_of_two_that_want_to_probe_at_the_same_time_one_may(db, clock, connect, waits):
    fail(db, 3)
    clock.advance("1 minute")
    first, second = connect(), connect()
    tokens = []
    with first.transaction():
        tokens.append(claim_probe(first))
        rival = threading.Thread(target=lambda: tokens.append(claim_probe(second)))
        rival.start()
        waits(second)
    rival.join()
    assert tokens[0] is not None
    assert tokens[1] is None
    assert finish_probe(db, tokens[0]) is True


def test_failures_of_many_processes_add_up_and_open_it_once(db, connect):
    db.execute("update reaper.settings set circuit_failures = 40")
    connections = [connect() for _ in range(4)]
    threads = [threading.Thread(target=fail, args=(connection, 10)) for connection in connections]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    circuit = record(db, CIRCUIT)
    assert (circuit.state, circuit.failures, circuit.trips) == ("open", 40, 1)


def test_an_application_may_report_and_look_but_not_probe(db):
    db.execute("set role reaper_app")
    assert fail(db) == "closed"
    assert succeed(db) is False
    assert states(db) == {"b2": "closed"}
    with refused("42501"):
        claim_probe(db)
