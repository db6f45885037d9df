"""Systems that the operators' page is looked at with: empty, busy, much amiss, millions of rows."""

from pathlib import Path

from reaper.services import ALL
from tests.support.paste_fixtures import Connection

SERVICE = "select reaper.register_service(%s, %s, %s, %s)"


def register_services(db: Connection) -> None:
    """As a worker does when it starts."""
    for service in ALL:
        db.execute(SERVICE, [service.name, service.schedule, service.description, service.enabled])


def make_busy(db: Connection) -> None:
    """Much to do, and all of it done in time."""
    register_services(db)
    db.execute(Path(__file__).with_name("busy.sql").read_text())


def make_sick(db: Connection) -> None:
    """The busy one, and much that wants a person."""
    make_busy(db)
    db.execute(Path(__file__).with_name("sick.sql").read_text())


def make_large(db: Connection) -> None:
    """The sick one, with millions of rows."""
    make_sick(db)
    for statement in Path(__file__).with_name("large.sql").read_text().split(";\n"):
        if statement.strip():
            db.execute(statement)
