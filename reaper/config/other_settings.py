"""The settings of another installation, for a comparison: nothing of this process is in them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from dotenv import dotenv_values
from pydantic import ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from reaper.config.fields import plain
from reaper.config.settings import FILE, Settings
from reaper.config.variables import ENV_FILE, PREFIX, variable_of
from reaper.errors import ConfigError


class OtherSettings(Settings):
    """What two files say; login variables of backends are looked for in them, too."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what it is made with."""
        return (init_settings,)

    @property
    def file(self) -> Path | None:
        """The file that names backends; that of this folder is another installation's."""
        return self.config

    @cached_property
    def variables(self) -> Mapping[str, str | None]:
        """Logins are not compared: any will do."""
        return _Any()


class _Any(dict[str, str | None]):
    """Every variable is set."""

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ARG002
        return key


def read_other(path: Path) -> OtherSettings:
    """From a reaper.toml and the .env beside it, or from a .env and the reaper.toml beside it."""
    if not path.is_file():
        raise ConfigError(
            f"{path} is no file", "Give the reaper.toml of the other installation, or its .env."
        )
    beside = path.parent / (ENV_FILE if path.suffix == ".toml" else FILE.name)
    toml, env = (path, beside) if path.suffix == ".toml" else (beside, path)
    given = _variables(env) if env.is_file() else {}
    if path is toml or ("config" not in given and toml.is_file()):
        given["config"] = str(toml)
    elif "config" in given:
        given["config"] = str(path.parent / given["config"])
    try:
        return OtherSettings(**given)  # type: ignore[arg-type]
    except ValidationError as error:
        problems = [f"{variable_of(str(e['loc'][0]))}: {plain(e)}" for e in error.errors(include_url=False)]
        raise ConfigError(f"{env}: {'; '.join(problems)}") from None


def _variables(path: Path) -> dict[str, str]:
    return {
        name.removeprefix(PREFIX).lower(): value
        for name, value in dotenv_values(path).items()
        if name.startswith(PREFIX) and name.removeprefix(PREFIX).lower() in Settings.model_fields and value
    }
