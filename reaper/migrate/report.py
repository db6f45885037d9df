"""What a migration did."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from reaper.migrate.step import Kind, Step
from reaper.migrate.table_notes import Addition


@dataclass
class Report:
    """The steps that were taken, as names by kind."""

    roles: list[str] = field(default_factory=list)
    dropped_indexes: list[str] = field(default_factory=list)
    procrastinate: list[str] = field(default_factory=list)
    rolled_back: list[str] = field(default_factory=list)
    applied: list[str] = field(default_factory=list)
    code_loaded: list[str] = field(default_factory=list)
    code_dropped: list[str] = field(default_factory=list)
    # To tables of the application.
    added: list[Addition] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    changed: bool = False
    version: str | None = None

    def add(self, step: Step) -> None:
        """Note a step that was taken."""
        lists = {
            Kind.CREATE_ROLES: self.roles,
            Kind.DROP_UNFINISHED_INDEX: self.dropped_indexes,
            Kind.APPLY_PROCRASTINATE: self.procrastinate,
            Kind.ROLL_BACK: self.rolled_back,
            Kind.APPLY: self.applied,
            Kind.LOAD_CODE: self.code_loaded,
        }
        if step.kind in lists:
            lists[step.kind] += step.names
        self.code_dropped += step.dropped
        self.changed = True

    def as_dict(self) -> dict[str, Any]:
        """The report for machines."""
        return asdict(self)
