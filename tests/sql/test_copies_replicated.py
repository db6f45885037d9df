"""Who needs copies gets them: on other backends, within the quotas, and never under a name that another object has."""

import pytest

from tests.support.copy_fixtures import backends, factor, places, wants
from tests.support.paste_fixtures import accounts


@pytest.fixture
def three(checked_db):
    """default, east and west, and two copies of everything."""
    backends(checked_db, "east", "west")
    factor(checked_db, 2)
    return checked_db


def test_a_content_that_was_put_gets_its_second_copy(three, writer, copier):
    writer.put("a", "h", size=7)
    copier.sweep()
    [task] = copier.claim_copies()
    assert (task.size_bytes, task.purpose, task.sha256) == (7, "replicate", False)
    assert task.sources == list(places(three, "h")) and task.destination not in task.sources
    assert accounts(three)[task.destination] == (0, 0, 7)
    assert copier.commit_copy(task) == "copied"
    assert places(three, "h") == {*task.sources, task.destination}
    assert accounts(three) == {task.sources[0]: (7, 0, 0), task.destination: (7, 0, 0)}
    assert wants(three) == {} and copier.claim_copies() == []


def test_an_object_that_the_application_stored_is_written_down_with_its_copy(three, paste, copier, drain):
    paste("a", content="bare", expires="1 day", own_key=False, size=0)
    copier.sweep()
    [task] = copier.claim_copies()
    assert (task.size_bytes, task.sources, task.source_keys) == (None, ["default"], ["bare"])
    assert copier.commit_copy(task, size=33) == "copied"
    assert places(three, "bare") == {"default", task.destination}
    assert accounts(three) == {"default": (33, 0, 0), task.destination: (33, 0, 0)}
