"""The composition root: the only place that knows which adapter stands behind which port."""

from reaper.app.app import App, open_async_store, open_store
from reaper.app.replaced_parts import Parts

__all__ = ["App", "Parts", "open_async_store", "open_store"]
