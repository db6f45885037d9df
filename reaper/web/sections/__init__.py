"""The sections of the page, in the order in which they stand there."""

from reaper.web.section import Section
from reaper.web.sections import (
    audit,
    backends,
    blocked,
    copies,
    deletions,
    doctor,
    lifecycle,
    needs,
    now,
    policies,
    services,
    webhooks,
    why,
    workers,
)

ALL: tuple[Section, ...] = (
    needs.SECTION,
    now.SECTION,
    services.SECTION,
    workers.SECTION,
    backends.SECTION,
    deletions.SECTION,
    copies.SECTION,
    blocked.SECTION,
    policies.SECTION,
    lifecycle.SECTION,
    webhooks.SECTION,
    why.SECTION,
    audit.SECTION,
    doctor.SECTION,
)
