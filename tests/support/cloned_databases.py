"""Databases of the test server: cloned from the migrated template, and emptied."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
from psycopg import sql

from reaper.dev.embedded import Postgres

GRACE = 0.1
SESSIONS = "select from pg_stat_activity where datname = %s"

Connection = psycopg.Connection[Any]

# All that pastes ever left behind, and where those who look around stand.
EMPTY = """
    update reaper.stray_scan set after = '-infinity', after_code = '', rest_until = '-infinity';
    update reaper.unreferenced_scan set after = '';
    delete from reaper.sightings;
    delete from reaper.suspects;
    delete from public.pastes;
    delete from public.content;
    delete from reaper.put_intents;
    delete from reaper.copy_intents;
    delete from reaper.copy_wants;
    delete from reaper.copy_excess;
    delete from reaper.copy_moves;
    update reaper.copy_sweep set fingerprint = '1||', after_hash = '', finished_at = now();
    delete from reaper.object_locations;
    delete from reaper.byte_deltas;
    delete from reaper.batches;
    delete from reaper.workers;
    delete from reaper.blocked;
    delete from reaper.cleanup_queue;
    delete from reaper.cleanup_dlq;
    delete from reaper.invalidations;
    delete from reaper.retired_keys;
    delete from reaper.runs;
    delete from reaper.drift;
"""

# A clone is an installation of its own: as a copy of its template it would own no bucket.
AT_HOME = """
do $$ begin
    if to_regclass('reaper.installation') is not null then
        update reaper.installation
           set installation_id = gen_random_uuid(), database = current_database(),
               system_identifier = (select c.system_identifier from pg_control_system() as c);
    end if;
end $$
"""


@contextmanager
def cloned(maintenance: Connection, server: Postgres, template: str, name: str) -> Iterator[Connection]:
    """A connection, in autocommit, to a copy of the template that is gone after the block."""
    # Files in memory are copied in half the time that the default takes, which writes each page to the WAL.
    create = sql.SQL("create database {} template {} strategy file_copy")
    maintenance.execute(create.format(sql.Identifier(name), sql.Identifier(template)))
    with closing(psycopg.connect(server.dsn(name), autocommit=True)) as connection:
        connection.execute(AT_HOME)
        yield connection
    wait_for_sessions_to_end(maintenance, name)
    maintenance.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def wait_for_sessions_to_end(maintenance: Connection, name: str) -> None:
    """Sessions that were closed end soon; "drop database" sleeps a tenth of a second if it still sees one."""
    deadline = time.monotonic() + GRACE
    while time.monotonic() < deadline and maintenance.execute(SESSIONS, (name,)).fetchone():
        time.sleep(0.001)
