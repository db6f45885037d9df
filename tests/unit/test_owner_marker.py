"""The marker: what is written is read again, and what names no owner says so."""

import json
from datetime import UTC, datetime
from uuid import UUID

import pytest

from reaper.queries.ownership import Installation
from reaper.storage.owner_marker import OWNER_KEY, Owner, UnreadableMarker, decode, is_own

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
# As large as system identifiers are: more than a JavaScript number keeps.
SYSTEM = 7556011223344556677
HERE = Installation(UUID(int=7), "pastes", SYSTEM, True, "pastes", SYSTEM, NOW)
MARKER = {"installation_id": "a", "database": "b", "system_identifier": "1"}


def test_what_is_written_is_read_again() -> None:
    me = Owner.of(HERE, NOW)
    assert decode(me.encode()) == me
    assert str(SYSTEM) in json.loads(me.encode())["system_identifier"]
    assert str(me).endswith("since 2026-01-31T12:00:00+00:00")


def test_when_it_was_written_does_not_matter() -> None:
    assert Owner("a", "b", "1", "today").is_same(Owner("a", "b", "1", "yesterday"))


@pytest.mark.parametrize("other", [Owner("x", "b", "1"), Owner("a", "x", "1"), Owner("a", "b", "2")])
def test_each_of_the_three_tells_owners_apart(other: Owner) -> None:
    assert not Owner("a", "b", "1").is_same(other)


@pytest.mark.parametrize("data", [b"", b" \n"])
def test_an_empty_marker_says_so(data: bytes) -> None:
    with pytest.raises(UnreadableMarker, match="is empty"):
        decode(data)


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfe\x00",
        b"production",
        b"[]",
        b"null",
        b"{}",
        b"[" * 100_000,
        json.dumps({**MARKER, "database": None}).encode(),
        json.dumps({**MARKER, "system_identifier": 1}).encode(),
        json.dumps({**MARKER, "installation_id": ""}).encode(),
    ],
    ids=lambda data: repr(data[:12]),
)
def test_a_marker_that_names_no_owner_says_so(data: bytes) -> None:
    with pytest.raises(UnreadableMarker, match="names no owner"):
        decode(data)


def test_what_lies_beside_the_marker_is_reapers_own_and_content_is_not() -> None:
    assert is_own(OWNER_KEY)
    assert not is_own("re/reaper/owner")
    assert not is_own(".reaperowner")
