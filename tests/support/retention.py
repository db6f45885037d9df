"""Words in which tests speak of retention: policies are registered, planned, refused, and purge."""

from typing import Any

from psycopg import sql

from tests.support.paste_fixtures import Connection, record, refused, value


class Retention:
    """Registers policies and purges, at one connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def add(self, name: str, table: str, column: str, max_age: str = "3 months", **more: Any) -> str:
        """Register a policy that is not enabled."""
        arguments = {"name": name, "table": table, "column": column, "max_age": max_age, **more}
        query = sql.SQL("select reaper.add_retention_policy({})").format(
            sql.SQL(", ").join(
                sql.SQL("{} => {}").format(sql.Identifier(f"p_{each}"), sql.Placeholder(each))
                for each in arguments
            )
        )
        self.connection.execute(query, arguments)
        return name

    def enabled(self, *arguments: Any, **more: Any) -> str:
        """Register a policy and enable it."""
        name = self.add(*arguments, **more)
        self.connection.execute("select reaper.enable_policy(%s)", [name])
        return name

    def purge(self, name: str, limit: int | None = None) -> int:
        return int(value(self.connection, "select reaper.purge_aged(%s, %s)", name, limit))

    def purge_all(self, name: str, limit: int) -> list[int]:
        """Purge as the job does: again if and only if the limit was reached; what each run deleted."""
        runs = [self.purge(name, limit)]
        while runs[-1] == limit:
            runs.append(self.purge(name, limit))
        return runs

    def plan(self, name: str) -> Any:
        return record(self.connection, "select * from reaper.plan_policy(%s)", name)


def refusal(retention: Retention, *arguments: Any, **more: Any) -> tuple[Any, Any]:
    """The message and the hint with which a registration is refused."""
    with refused("RP005") as caught:
        retention.add(*arguments, **more)
    return caught.value.diag.message_primary, caught.value.diag.message_hint
