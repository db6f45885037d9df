"""Take one safeguard out of the SQL, and a play goes wrong: no safeguard is idle, and every play can fail."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg import IsolationLevel
from pytest_postgresql.executors import NoopExecutor

from reaper.dev.embedded import Postgres
from tests.reliability.mutants import (
    binding,
    claiming,
    cleaning,
    comparing,
    copying,
    counting,
    distributing,
    doors,
    dropping,
    expiring,
    finishing,
    judging,
    leasing,
    naming,
    notifying,
    object_keys,
    owning,
    pausing,
    pending,
    planning,
    queueing,
    reaping,
    standing_by,
    using,
    watching,
)
from tests.support.cloned_databases import cloned
from tests.support.mutants.mutant import Mutant
from tests.support.mutants.scene import OLD_SNAPSHOTS, Play, Scene
from tests.support.ordeals import Ordeal

NAME = "reaper_mutants"
AREAS = (
    binding,
    claiming,
    dropping,
    reaping,
    naming,
    finishing,
    watching,
    leasing,
    copying,
    doors,
    pending,
    pausing,
    cleaning,
    counting,
    standing_by,
    object_keys,
    distributing,
    owning,
    planning,
    queueing,
    judging,
    using,
    notifying,
    expiring,
    comparing,
)
MUTANTS = [mutant for area in AREAS for mutant in area.MUTANTS]
PLAYS = list(dict.fromkeys(mutant.play for mutant in MUTANTS))
# What a play is spoiled by: its own assertions, or PostgreSQL; but neither by a mutant that is no SQL, nor by
# a wait that was given up.
NO_VERDICT = ("42", "57014", "55P03", "25P02")


@pytest.fixture(scope="module")
def rehearsed(
    maintenance: psycopg.Connection[Any], server: Postgres, migrated_template: NoopExecutor
) -> Iterator[psycopg.Connection[Any]]:
    """A database that all plays share, because each is rolled back."""
    with cloned(maintenance, server, migrated_template.template_dbname, NAME) as connection:
        connection.execute("set statement_timeout = '10s'")
        yield connection


@contextmanager
def staged(db: psycopg.Connection[Any], play: Play) -> Iterator[Scene]:
    """A scene of which nothing is left."""
    db.isolation_level = IsolationLevel.REPEATABLE_READ if play in OLD_SNAPSHOTS else None
    with db.transaction(force_rollback=True):
        yield Scene(db)


@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.__name__)
def test_with_all_safeguards_the_play_ends_well(rehearsed: psycopg.Connection[Any], play: Play) -> None:
    with staged(rehearsed, play) as scene:
        play(scene)


@pytest.mark.ordeal("mutants", aim="every mutant caught", share=0)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.what)
def test_without_one_of_them_it_goes_wrong(
    rehearsed: psycopg.Connection[Any], ordeal: Ordeal, mutant: Mutant
) -> None:
    with staged(rehearsed, mutant.play) as scene:
        for edit in mutant.edits:
            edit.load(scene.db)
        with pytest.raises((AssertionError, psycopg.Error, pytest.fail.Exception)) as caught:
            mutant.play(scene)
    assert not (getattr(caught.value, "sqlstate", None) or "").startswith(NO_VERDICT), caught.value
    ordeal.survived("mutants caught")
