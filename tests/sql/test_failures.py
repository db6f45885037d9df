"""How failures are reported: what they say about the object, and of which kind they are."""

import json

import pytest

from tests.support.paste_fixtures import value


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ("AccessDenied: no permission: none", "AccessDenied"),
        ("AccessDenied", "AccessDenied"),
        ("503: slow down", "503"),
        ("connection reset: by peer", "other"),
        ("x" * 65, "other"),
        ("", "other"),
        (None, "other"),
    ],
)
def test_the_kind_of_an_error_is_the_code_in_front_of_it(db, error, cause):
    assert value(db, "select reaper.error_cause(%s)", error) == cause


def verdicts(db, *failures) -> list[tuple[str, bool, bool]]:
    report = json.dumps([{"object_key": "k", "error": "e", **failure} for failure in failures])
    return db.execute(
        "select object_key, permanent, outage from reaper_internal.failed_objects(%s)", [report]
    ).fetchall()


def test_an_outage_is_never_for_good(db):
    assert verdicts(db, {"outage": True, "permanent": True}) == [("k", False, True)]


def test_of_several_verdicts_about_one_object_the_worst_counts(db):
    outage, counted, permanent = {"outage": True}, {}, {"permanent": True}
    assert verdicts(db, outage, counted, permanent, outage) == [("k", True, False)]
    assert verdicts(db, outage, counted) == [("k", False, False)]
    assert verdicts(db, outage) == [("k", False, True)]
