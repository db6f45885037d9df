"""Two workers that lease a service, extend, record and return, in every order."""

from collections.abc import Iterable
from typing import Any

import pytest

from tests.support.interleavings.actors import Connection
from tests.support.interleavings.explorer import Actor, Run, explore
from tests.support.interleavings.scenes import ExploredDatabase, begin, values

INSIDE = "create table public.inside (only_one boolean primary key default true, who text)"
REGISTER = """
    delete from reaper.services;
    delete from public.inside;
    update reaper.settings set clock_offset = '0';
    select reaper.register_service('sweep', '1 minute', 'for a test');
"""
ENTER = "insert into public.inside (who) select '{}' where %(token)s::uuid is not null"
LEAVE = "delete from public.inside where %(token)s::uuid is not null"
STATE = "select array[last_error, lease_worker] from reaper.services"
RETURN = "select reaper.return_service_lease('sweep', %(token)s)"
EXTEND_LATE = "select reaper.extend_service_lease('sweep', %(late)s) as extended"
FINISH_LATE = "select reaper.finish_run('sweep', '{}', 'late', %(late)s)"
# The session of who is late is gone, and its advisory lock with it.
LATE = """
    select pg_advisory_unlock_all();
    update reaper.settings set clock_offset = clock_offset + interval '16 seconds';
"""

pytestmark = pytest.mark.ordeal("interleavings", aim="12,000 schedules", share=0)


def lease(worker: str) -> str:
    return f"select reaper.lease_service('sweep', '{worker}') as token"


def free(conn: Connection) -> dict[str, Any]:
    conn.execute(REGISTER)
    return {}


def expired(conn: Connection) -> dict[str, Any]:
    """A worker leased it, and was not heard of for longer than a lease lasts."""
    conn.execute(REGISTER)
    memory = {"late": values(conn, "select reaper.lease_service('sweep', 'late')")[0]}
    conn.execute(LATE)
    return memory


@pytest.mark.slow
def test_two_workers_never_run_a_service_at_the_same_time(database: ExploredDatabase) -> None:
    database.conn.execute(INSIDE)
    actors = {
        name: Actor(begin(lease(name)), "commit", ENTER.format(name), LEAVE, begin(RETURN), "commit")
        for name in ("one", "two")
    }
    result = explore(database.connect, actors, reset=free).assert_clean()
    assert database.explored(result) >= 20


def test_who_comes_late_keeps_the_lease_or_records_nothing(database: ExploredDatabase) -> None:
    database.conn.execute(INSIDE)

    def at_end(conn: Connection, _: Run) -> Iterable[str]:
        error, holder = values(conn, STATE)[0]
        if (error == "late") != (holder == "late"):
            yield f"{holder} holds the lease, and the last run says {error}"

    actors = {
        "late": Actor(begin(EXTEND_LATE), "commit", begin(FINISH_LATE), "commit"),
        "next": Actor(begin(lease("next")), "commit"),
    }
    result = explore(database.connect, actors, reset=expired, at_end=at_end).assert_clean(allow={"RP001"})
    assert database.explored(result) >= 5
    assert result.errors("RP001")
