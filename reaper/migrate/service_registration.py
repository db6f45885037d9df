"""Entering the services into the schedule: operators can pause and change them before any worker ran."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from psycopg import sql

from reaper.db.connection import Connection
from reaper.migrate import migrator_rights
from reaper.migrate.ledger import relation_exists
from reaper.migrate.step import Kind, Step, statements

_REGISTER = "select reaper.register_service({name}, {schedule}, {description}, {enabled})"


class ServiceDefaults(Protocol):
    """What a service declares of itself; migrating does not know the services, it is given them."""

    @property
    def name(self) -> str:
        """What operators call it."""

    @property
    def schedule(self) -> str:
        """When it runs, unless a DBA says otherwise."""

    @property
    def description(self) -> str:
        """What it does, in a few words."""

    @property
    def enabled(self) -> bool:
        """Whether it runs without being enabled."""


def steps(connection: Connection, services: Iterable[ServiceDefaults]) -> Iterator[Step]:
    """Register those that are missing or differ; what a DBA changed stays."""
    known = _known(connection)
    pending = [s for s in services if known.get(s.name) != (s.schedule, s.description)]
    if pending:
        yield Step(
            kind=Kind.REGISTER_SERVICES,
            title=f"register the services {', '.join(service.name for service in pending)}",
            locks="reaper.services ROW EXCLUSIVE",
            statements=statements(*(_statement(service) for service in pending)),
            names=tuple(service.name for service in pending),
            role=migrator_rights.OWNER,
        )


def _known(connection: Connection) -> dict[str, tuple[str, str]]:
    """Default schedule and description of each service that is registered."""
    if not relation_exists(connection, "reaper", "services"):
        return {}
    rows = connection.execute("select name, default_schedule, description from reaper.services")
    return {name: (schedule, description) for name, schedule, description in rows}


def _statement(service: ServiceDefaults) -> str:
    values = {
        "name": service.name,
        "schedule": service.schedule,
        "description": service.description,
        "enabled": service.enabled,
    }
    return _REGISTER.format(**{key: sql.Literal(value).as_string() for key, value in values.items()})
