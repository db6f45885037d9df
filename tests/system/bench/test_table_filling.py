"""A workload is loaded exactly as it describes itself."""

from typing import Any

import pytest

from reaper.db.connection import connect
from reaper.dev.bench.servers import Servers
from reaper.dev.bench.workload import Order, Workload


def one(servers: Servers, workload: Workload, statement: str) -> Any:
    with servers.copy(workload) as place, connect(place.dsn, "test") as connection:
        return connection.execute(statement).fetchone()


@pytest.mark.parametrize("order", list(Order))
def test_rows_due_rows_and_contents_are_as_many_as_it_says(servers: Servers, order: Order):
    workload = Workload(f"counts {order}", 1000, order, due_share=0.3, unique_share=0.4)
    found = one(
        servers,
        workload,
        "select count(*), count(*) filter (where expires_at <= now()), count(distinct content_hash)"
        "  from pastes",
    )
    assert found == (1000, 300, 400)


def test_nothing_is_wrong_with_it_before_a_drain(servers: Servers):
    assert one(servers, Workload("sound", 500), "select count(*) from reaper.check_invariants()") == (0,)


def test_a_cohort_expires_in_the_order_in_which_it_lies(servers: Servers):
    ordered = """
        select bool_and(later >= sooner)
          from (select expires_at, lag(expires_at) over (order by ctid) from pastes) as p (later, sooner)
    """
    assert one(servers, Workload("in order", 300, Order.COHORT), ordered) == (True,)
    assert one(servers, Workload("in no order", 300), ordered) == (False,)


def test_one_hot_hash_has_its_share_of_the_references(servers: Servers):
    (most,) = one(servers, Workload("hot", 2000, hot_share=0.1), "select max(ref_count) from content")
    assert 150 <= most <= 260


def test_bare_keys_are_no_keys_on_otherwise_the_same_table(servers: Servers):
    digest = """
        select count(object_key), count(*), md5(string_agg(content_hash, ',' order by content_hash))
          from content
    """
    keys, contents, hashes = one(servers, Workload("random keys", 200), digest)
    assert one(servers, Workload("bare keys", 200, bare_keys=True), digest) == (0, contents, hashes)
    assert keys == contents


def test_wide_rows_are_wide(servers: Servers):
    (width,) = one(
        servers, Workload("wide", 100, payload_bytes=900), "select avg(pg_column_size(p)) from pastes p"
    )
    assert 1000 <= width <= 1100


def test_every_run_meets_the_same_rows(servers: Servers):
    digest = "select md5(string_agg(short_code || content_hash, ',' order by short_code)) from pastes"
    first = one(servers, Workload("once", 200), digest)
    assert one(servers, Workload("twice", 200), digest) == first
