"""Seed 001's two tests, by their titles, on tables that nobody here designed."""

import pytest

from tests.support.paste_fixtures import column, value


def test_deletes_data_over_3_months_old(db, retention, history):
    history("3 months 1 hour", tid=1)
    history("3 months -1 hour", tid=2)
    retention.purge(retention.enabled("history", "pgbench_history", "mtime"))
    assert column(db, "select tid from pgbench_history") == [2]


def test_requeues_if_more_to_delete(retention, history):
    history("3 months 1 hour", count=2)
    policy = retention.enabled("history", "pgbench_history", "mtime")
    assert retention.purge(policy, 1) == 1, "as many as the limit: there may be more"
    assert retention.purge_all(policy, 1) == [1, 0]


def test_deletes_data_over_3_months_old_from_every_partition(db, retention, audit_log):
    ages = ("3 months 1 hour", "3 months -1 hour")
    expired, retained = column(db, "select now() - unnest(%s::interval[])", list(ages))
    audit_log("2019-05-05", "2020-05-05", expired, retained)
    assert retention.purge(retention.enabled("audit", "audit_log", "at")) == 3
    assert column(db, "select at from audit_log") == [retained]


def test_requeues_if_more_to_delete_in_other_partitions(db, retention, audit_log):
    audit_log("2019-05-05", "2020-05-05", "2020-06-06", "now")
    policy = retention.enabled("audit", "audit_log", "at")
    assert retention.purge_all(policy, 2) == [2, 1]
    assert value(db, "select count(*) from audit_log") == 1


@pytest.mark.parametrize(("rows", "runs"), [(0, [0]), (9, [5, 4]), (10, [5, 5, 0]), (11, [5, 5, 1])], ids=str)
def test_exactly_as_many_as_the_limit_cost_one_empty_run_and_then_there_is_rest(
    retention, history, rows, runs
):
    history("1 year", count=rows)
    policy = retention.enabled("history", "pgbench_history", "mtime")
    assert retention.purge_all(policy, 5) == runs


def test_the_oldest_go_first(db, retention, history):
    for tid, age in enumerate(["4 months", "6 months", "5 months", "7 months"]):
        history(age, tid=tid)
    retention.purge(retention.enabled("history", "pgbench_history", "mtime"), 2)
    assert column(db, "select tid from pgbench_history order by tid") == [0, 2]


def test_the_limit_is_500_unless_the_policy_or_the_call_says_otherwise(retention, history):
    history("1 year", count=600)
    retention.enabled("usual", "pgbench_history", "mtime")
    retention.enabled("small", "pgbench_history", "mtime", batch_limit=7)
    assert [retention.purge("usual"), retention.purge("small"), retention.purge("small", 3)] == [500, 7, 3]


def test_rows_become_old_as_time_passes(retention, history, clock):
    history("1 day", count=3)
    policy = retention.enabled("history", "pgbench_history", "mtime", "2 days")
    assert retention.purge(policy) == 0
    clock.advance("1 day")
    assert retention.purge(policy) == 3
