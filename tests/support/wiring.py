"""How an App is made in the process of a test, or in one that a test has started."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reaper import config
from reaper.app import App
from reaper.config.settings import Settings
from reaper.queries.base import Intercept
from tests.support.folder_store import FolderStore
from tests.support.folder_webhooks import FolderWebhooks
from tests.support.replaced_parts import WrapStore, make_app

LOGIN = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}


@dataclass(frozen=True)
class Wiring:
    """Variables as an operator sets them, and folders that stand for the buckets of some backends."""

    variables: Mapping[str, str]
    folders: Mapping[str, Path] = field(default_factory=dict)

    def settings(self, **given: Any) -> Settings:
        """What an App is told; `given` settings go before the variables."""
        os.environ.update(LOGIN)
        named = {n.removeprefix("REAPER_").lower(): v for n, v in self.variables.items() if n not in LOGIN}
        return config.load_all("database_url", config.BACKENDS, **{**named, **given})

    def buckets(self) -> dict[str, FolderStore]:
        """Those that are folders."""
        return {name: FolderStore(path) for name, path in self.folders.items()}

    def webhooks(self) -> FolderWebhooks:
        """Endpoints beside these folders."""
        return FolderWebhooks(next(iter(self.folders.values())).parent / "webhooks")

    def app(
        self,
        *,
        around: Intercept | None = None,
        wrap_store: WrapStore | None = None,
        parts: Mapping[str, Any] | None = None,
        **given: Any,
    ) -> App:
        """An App in this process; what a test replaces in it goes before what the wiring says."""
        folders = {"buckets": self.buckets(), "webhooks": self.webhooks()} if self.folders else {}
        wrapped = {"wrap_store": wrap_store} if wrap_store else {}
        return make_app(self.settings(**given), around=around, **{**folders, **wrapped, **(parts or {})})
