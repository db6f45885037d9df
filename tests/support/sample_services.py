"""Services for workers in other processes, which must be able to import them."""

import os
from collections.abc import Callable

import psycopg

from reaper.services.base import Context, Service, Tick

MARK = "insert into public.marks (service, pid) values (%s, %s)"
MARKS = "create table public.marks (at timestamptz default clock_timestamp(), service text, pid int)"
LINKS = 100


def service(tick: Callable[[Context], Tick], name: str = "sample", locked: bool = True) -> Service:
    """One that does as a test says."""
    return Service(name, "1 hour", tick, "for a test", locked)


def mark(service: str) -> int:
    """Leave a mark in the database; returns how many of this service there are."""
    with psycopg.connect(os.environ["REAPER_DATABASE_URL"], autocommit=True) as connection:
        connection.execute(MARK, [service, os.getpid()])
        row = connection.execute("select count(*) from public.marks where service = %s", [service]).fetchone()
    assert row is not None
    return int(row[0])


def chain_tick(_: Context) -> Tick:
    """Empty-handed, and back at once, a hundred times."""
    return Tick(more=mark("chain") < LINKS)


def once_tick(_: Context) -> Tick:
    mark("once")
    return Tick()


def alone_tick(_: Context) -> Tick:
    """Begin, look whether somebody else has begun, end."""
    with psycopg.connect(os.environ["REAPER_DATABASE_URL"], autocommit=True) as connection:
        connection.execute("insert into public.inside (pid) values (%s)", [os.getpid()])
        connection.execute(MARK, ["alone", os.getpid()])
        connection.execute("delete from public.inside where pid = %s", [os.getpid()])
    return Tick(more=True)


CHAIN = Service("chain", "1 day", chain_tick, "a chain of requeues")
ONCE = Service("once", "1 day", once_tick, "leaves a mark")
ALONE = Service("alone", "1 day", alone_tick, "must not overlap")
INSIDE = "create table public.inside (only_one boolean primary key default true, pid int)"
