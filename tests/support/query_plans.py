"""What a statement reads: its pages, and the plans of all that it calls."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from tests.support.paste_fixtures import Connection

Plan = dict[str, Any]


def pages(connection: Connection, query: str, *arguments: Any) -> int:
    """The pages that a statement, and all that it calls, found in memory or read."""
    explained = connection.execute(f"explain (analyze, buffers, format json) {query}", arguments)
    plan = explained.fetchone()[0][0]["Plan"]  # type: ignore[index]
    return int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"])


def flat(small: int, large: int) -> bool:
    """One more level of an index is allowed, a scan of the table or of the backlog is not."""
    return large <= 1.5 * small + 200


def watched(connection: Connection) -> list[Plan]:
    """Collects, from now on, the plan of every statement of a connection, however deep in functions."""
    plans: list[Plan] = []
    connection.execute("load 'auto_explain'")
    for setting in ("log_min_duration = 0", "log_nested_statements = on", "log_format = json"):
        connection.execute(f"set auto_explain.{setting}")
    connection.add_notice_handler(lambda notice: plans.extend(_plans_in(notice.message_primary)))
    connection.execute("set client_min_messages = log")
    return plans


def scans(plan: Plan) -> Iterator[tuple[str, str]]:
    """How each table below this node is read."""
    if "Relation Name" in plan and "Scan" in plan["Node Type"]:
        yield plan["Node Type"], plan["Relation Name"]
    for child in plan.get("Plans", ()):
        yield from scans(child)


def reads(plans: Iterable[Plan]) -> dict[tuple[str, str], str]:
    """How which table is read, and by which statement."""
    return {(how, table): plan["Query Text"] for plan in plans for how, table in scans(plan["Plan"])}


def read_whole(plans: Iterable[Plan], tables: Iterable[str]) -> dict[str, str]:
    """Those of the tables that some statement reads from one end to the other."""
    read = reads(plans)
    return {table: read["Seq Scan", table] for table in tables if ("Seq Scan", table) in read}


def _plans_in(message: str | None) -> Iterator[Plan]:
    """The plan in a message of auto_explain, if it is one."""
    _, found, plan = (message or "").partition("plan:\n")
    if found:
        yield json.loads(plan)
