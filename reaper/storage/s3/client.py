"""How to speak to a store: patience, retries, addresses and credentials."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from reaper.errors import ConfigError

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

MIB = 1 << 20
# What they log at DEBUG has session tokens and signed headers in it.
TALKATIVE = ("boto3", "botocore", "s3transfer", "urllib3")


@dataclass(frozen=True, slots=True)
class S3Options:
    """How patient and how careful to be with one store."""

    connect_timeout: float = 2.0
    read_timeout: float = 10.0
    attempts: int = 2
    # For one call of delete(): no request begins after it; one that runs may still use up its own timeouts.
    deadline: float = 60.0
    # For one put, get or digest: well below settings.intent_min_age, or an upload is taken for abandoned.
    transfer_deadline: float = 600.0
    max_pool_connections: int = 32
    threads: int = 8
    page_size: int = 1000
    # What is larger goes in parts, one after the other; S3 takes none below 5 MiB but the last.
    multipart_threshold: int = 64 * MIB
    part_size: int = 16 * MIB
    # For stores that refuse a CRC32 without Content-MD5; turned on by itself where the store asks for it.
    content_md5: bool = False
    # For stores without DeleteObjects; turned on by itself where the store says that it has none.
    single_deletes: bool = False
    profile: str | None = None
    # How the store is called in spans.
    backend: str = ""
    # Access key and secret key; without them, and without a profile, they come the usual AWS way.
    login: tuple[str, str] | None = field(default=None, repr=False)


def open_client(endpoint_url: str | None, options: S3Options, at_once: int) -> S3Client:
    """A client that keeps a connection for each of the requests that may be under way at once."""
    for name in TALKATIVE:
        logger = logging.getLogger(name)
        logger.setLevel(max(logger.level, logging.WARNING))
    config = Config(
        connect_timeout=options.connect_timeout,
        read_timeout=options.read_timeout,
        retries={"mode": "standard", "total_max_attempts": options.attempts},
        max_pool_connections=max(options.max_pool_connections, at_once),
        # A third of what 1000 keys cost us, and what a key may be is for the store to say.
        parameter_validation=False,
        # Uploads bring their own: the library's would put frames around the bytes, which old stores keep.
        request_checksum_calculation="when_required",
        s3={"addressing_style": "path"} if endpoint_url else None,
    )
    try:
        # A session of its own: the default one is not made for threads and remembers old credentials.
        access_key, secret_key = options.login or (None, None)
        session = boto3.session.Session(access_key, secret_key, profile_name=options.profile)
        region = session.region_name or ("us-east-1" if endpoint_url else None)
        return session.client("s3", endpoint_url=endpoint_url, region_name=region, config=config)
    except (BotoCoreError, ValueError) as error:
        raise ConfigError(
            f"the S3 client cannot be set up: {type(error).__name__}",
            "Check REAPER_S3_ENDPOINT_URL, AWS_PROFILE, AWS_REGION and the AWS configuration files.",
        ) from None
