"""A misbehaving S3 and somebody who talks to it."""

from tests.adapters.s3_fixtures import open_store, service_models_read_once  # noqa: F401
