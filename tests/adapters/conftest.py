"""S3 stores and Redis servers for the adapters; each test gets a bucket of its own."""

from tests.support.redis_fixtures import (  # noqa: F401
    clock,
    link,
    open_link,
    redis_client,
    silence,
    words,
)
from tests.support.s3_fixtures import (  # noqa: F401
    bucket,
    client,
    clients,
    double,
    keys_in,
    moto,
    needs,
    open_store,
    put,
    s3,
    seaweedfs,
    service_models_read_once,
    store,
)
