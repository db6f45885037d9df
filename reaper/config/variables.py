"""The REAPER_* variables of this process, and what is reported about those that are no setting.

A misspelt name is an error: the setting that was meant would silently fall back to its default. Any other
unknown name is one warning: it may be meant for a newer release.
"""

from __future__ import annotations

import difflib
import logging
import os
import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache

from dotenv import dotenv_values

PREFIX = "REAPER_"
ENV_FILE = ".env"
# Read by the embedded servers of demo, test and bench, which know nothing of this package.
DEVELOPMENT = frozenset({"REAPER_PG_BIN", "REAPER_EMBEDDED_DIR"})
# As alike as a name and the same with a letter too few, or with its last word wrong: URI for URL.
_CLOSE = 0.8
# Kubernetes tells each pod of the services beside it; those called reaper-… begin as our variables do.
_SERVICE_LINK = re.compile(
    r".*_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)"
)
_SERVICE_ADDRESS = re.compile(r"(?:tcp|udp|sctp)://.*")


def variable_of(setting: str) -> str:
    """The variable that sets it."""
    return PREFIX + setting.upper()


def read_variables() -> Mapping[str, str | None]:
    """The environment, and behind it the `.env` file."""
    return {**dotenv_values(ENV_FILE), **os.environ}


def unknown_variables(variables: Mapping[str, str | None], known: Collection[str]) -> list[str]:
    """The REAPER_* names that no setting reads, as they were written; an empty value counts as not set."""
    return sorted(
        name
        for name, value in variables.items()
        if value
        and name.upper().startswith(PREFIX)
        and name.upper() not in known
        and not _is_service_link(name.upper(), value)
    )


def _is_service_link(name: str, value: str) -> bool:
    if name.endswith("_PORT") and _SERVICE_ADDRESS.fullmatch(value):
        return True
    return _SERVICE_LINK.fullmatch(name) is not None


def did_you_mean(name: str, known: Iterable[str], close: float = _CLOSE) -> str | None:
    """The known name that is most like it, or that it is the beginning of; None when there is none."""
    known = sorted(known)
    likest = difflib.get_close_matches(name, known, n=1, cutoff=close)
    begun = [other for other in known if other.startswith(f"{name}_")]
    return next(iter(likest + begun), None)


def misspelt(unknown: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """The unknown names that are nearly a known one, with that one. The prefix makes no two names alike."""
    settings = [name.removeprefix(PREFIX) for name in known]
    meant = {name: did_you_mean(name.upper().removeprefix(PREFIX), settings) for name in unknown}
    return {name: PREFIX + setting for name, setting in meant.items() if setting}


@cache
def warn_of(names: tuple[str, ...]) -> None:
    """Say once in a process that these names mean nothing."""
    logging.getLogger(__name__).warning(
        "unknown settings are ignored: %s (is this release too old for them?)", ", ".join(names)
    )
