"""Reading the settings, and one message for everything that is wrong with them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from reaper.config import variables
from reaper.config.backends import variables_named_in
from reaper.config.fields import plain
from reaper.config.settings import HINT, ONE_BACKEND, Settings
from reaper.config.variables import variable_of
from reaper.errors import ConfigError

# What may be needed and is no variable of its own.
BACKENDS = "backends"
_BEHIND_BACKENDS = ONE_BACKEND | {"config"}
# A keyword is always refused; a guess that is a little off is still of help.
_ALIKE = 0.6


def load_all(*needed: str, **given: Any) -> Settings:
    """The settings of a process that uses all of them: each must be valid, those in `needed` must be set.

    Nothing that was set falls back to a default: a mistyped endpoint would lead to another bucket.
    """
    return _load(needed, (*Settings.model_fields, BACKENDS), given)


def load(*uses: str, **given: Any) -> Settings:
    """The settings; those named in `uses` must be set and valid. `given` values go before the environment.

    A command asks only for what it uses: another setting may be invalid. A misspelt name is always an error,
    because the setting that it was meant for is not known.
    """
    return _load(uses, uses, given)


def _load(needed: Sequence[str], judged: Collection[str], given: Mapping[str, Any]) -> Settings:
    known = {name: value for name, value in given.items() if name in Settings.model_fields}
    settings, problems = _read({name: value for name, value in known.items() if value is not None})
    judged = {*judged, *(_BEHIND_BACKENDS if BACKENDS in judged else ())}
    misspelt = {**_unknown_keywords(given.keys() - known.keys()), **_misspelt_variables(settings)}
    wrong = list(misspelt)
    wrong += [f"{variable_of(name)}: {text}" for name, text in problems.items() if name in judged]
    hint, backends = None, None
    if BACKENDS in judged:
        try:
            backends = settings.backends
        except ConfigError as error:
            wrong.append(error.message)
            hint = error.hint
    # What was set under a wrong name is not said to be missing as well.
    told = {*problems, *misspelt.values()}
    absent = [name for name in needed if name != BACKENDS and getattr(settings, name) is None]
    absent += ["s3_bucket"] if BACKENDS in needed and backends == {} else []
    missing = [f"{variable_of(name)} is not set" for name in absent if name not in told]
    if wrong or missing:
        raise ConfigError("; ".join(wrong + missing), HINT if missing else hint)
    return settings


def _read(given: Mapping[str, Any]) -> tuple[Settings, dict[str, str]]:
    """The settings, and what is wrong with those that had to be replaced by their defaults."""
    try:
        return Settings(**given), {}
    except ValidationError as error:
        problems = {str(e["loc"][0]): plain(e) for e in error.errors(include_input=False, include_url=False)}
        defaults = {name: Settings.model_fields[name].default for name in problems}
        return Settings(**{**given, **defaults}), problems


def _unknown_keywords(names: Collection[str]) -> dict[str, str | None]:
    """A sentence for each keyword that is no setting, and the setting that may be meant."""
    told = {}
    for name in sorted(names):
        meant = variables.did_you_mean(name, Settings.model_fields, close=_ALIKE)
        known = f"did you mean {meant}?" if meant else f"known settings: {', '.join(Settings.model_fields)}"
        told[f"there is no setting {name}; {known}"] = meant
    return told


def _misspelt_variables(settings: Settings) -> dict[str, str | None]:
    """A sentence for each variable that is nearly one of ours, and its setting; of others, one warning."""
    ours = {variable_of(name): name for name in Settings.model_fields} | dict.fromkeys(variables.DEVELOPMENT)
    of_file = variables_named_in(settings.file) if settings.file else set()
    unknown = variables.unknown_variables(settings.variables, ours.keys() | of_file)
    meant = variables.misspelt(unknown, ours)
    others = tuple(name for name in unknown if name not in meant)
    if others:
        variables.warn_of(others)
    return {f"{name} is not known; did you mean {other}?": ours[other] for name, other in meant.items()}
