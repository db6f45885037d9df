"""Which adapter stands behind which port.

Adapters are imported where they are wired: boto3 and redis load more slowly than `reaper status` answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from reaper.cache.none import NoCache, NoClaimLock, NoPasteCache, NoUsageBoard
from reaper.config.backends import DEFAULT_BACKEND, Backend
from reaper.db.reconnecting_session import Session
from reaper.db.retry import RetryPolicy
from reaper.errors import ConfigError
from reaper.expiry.bucket_guard import AnyBucket, BucketGuard
from reaper.ports import Cache, ClaimLock, ObjectStore, PasteCache, UsageBoard, Webhooks
from reaper.queries import Queries
from reaper.storage.circuit_breaker import Circuits, GuardedStore
from reaper.storage.drain_guard import OwnedBuckets
from reaper.storage.owned_store import OwnedStore
from reaper.storage.ownership import Ownership
from reaper.storage.usage_meter import UsageMeter
from reaper.storage.usage_publisher import UsagePublisher

if TYPE_CHECKING:
    from reaper.cache.redis.connection import RedisConnection
    from reaper.storage.s3.store import S3Options

from reaper.app.database_connections import Connections


class Adapters(Connections):
    """What is outside PostgreSQL, made of the settings when it is first asked for."""

    @cached_property
    def buckets(self) -> Mapping[str, ObjectStore]:
        """The backends by name, as they are; all their requests together pass one gate."""
        buckets = self._s3_buckets() if self.parts.buckets is None else self.parts.buckets
        return {name: self.parts.around("objects", bucket) for name, bucket in buckets.items()}

    def _s3_buckets(self) -> dict[str, ObjectStore]:
        from reaper.storage.request_gate import AdmissionGate
        from reaper.storage.s3.store import S3Store

        backends = self.settings.backends
        if not backends:
            raise ConfigError("REAPER_S3_BUCKET is not set", "Set it to the bucket that holds the content.")
        gate = AdmissionGate(self.settings.max_concurrent_requests)
        self.meter.on_first = self.usage.start
        return {
            name: S3Store(
                b.bucket,
                b.endpoint_url,
                self._s3_options(name, b),
                gate=gate,
                prefix=b.prefix,
                meter=self.meter.backend(name),
            )
            for name, b in backends.items()
        }

    def _s3_options(self, name: str, backend: Backend) -> S3Options:
        from reaper.storage.s3.store import S3Options

        return S3Options(
            backend=name,
            read_timeout=self.settings.s3_read_timeout.total_seconds(),
            content_md5=backend.content_md5,
            single_deletes=backend.single_deletes,
            profile=backend.profile,
            login=backend.login(self.settings.variables),
        )

    @cached_property
    def stores(self) -> Mapping[str, ObjectStore]:
        """The backends by name, each behind its circuit; a bucket of another installation is only read."""
        if self.parts.stores is not None:
            return self.parts.stores
        return {
            name: self.parts.wrap_store(name, OwnedStore(name, store, self.ownership))
            for name, store in self._guarded_stores.items()
        }

    @cached_property
    def _guarded_stores(self) -> Mapping[str, ObjectStore]:
        return {name: GuardedStore(name, bucket, self.circuits) for name, bucket in self.buckets.items()}

    @cached_property
    def circuits(self) -> Circuits:
        """What all processes together know of the backends; it waits for no database."""
        return Circuits(self._backend_session, self.telemetry)

    @cached_property
    def ownership(self) -> Ownership:
        """Whose the buckets are; it waits for no database."""
        return Ownership(self._backend_session, self._guarded_stores, self.telemetry)

    @cached_property
    def bucket_guard(self) -> BucketGuard:
        """Keeps drains from releasing rows whose objects lie in a bucket of another installation."""
        if self.parts.stores is not None:
            return AnyBucket()
        return OwnedBuckets(self.ownership, tuple(self._guarded_stores), DEFAULT_BACKEND)

    @cached_property
    def _backend_session(self) -> Session[Queries]:
        """For what processes tell each other of the backends; none of it is worth waiting for a standby."""
        session = Session(
            lambda: self._connect_lazily("circuits:0"), self.bind, retry=RetryPolicy(patience=0.0)
        )
        self._open.callback(session.close)
        return session

    @cached_property
    def meter(self) -> UsageMeter:
        """Counts the requests of this process."""
        return UsageMeter()

    @cached_property
    def usage(self) -> UsagePublisher:
        """Tells what this process has used; what is left at its end is told then."""
        publisher = UsagePublisher(
            self.meter, lambda: self.usage_board, self._backend_session.call, self.telemetry
        )
        self._open.callback(publisher.close)
        return publisher

    @cached_property
    def usage_board(self) -> UsageBoard:
        """Where processes tell each other what they have used; nowhere without REAPER_REDIS_URL."""
        board: UsageBoard = self.parts.around("usage", self._usage_board())
        return board

    def _usage_board(self) -> UsageBoard:
        if self._redis is None:
            return NoUsageBoard()
        from reaper.cache.redis.usage_board import RedisUsageBoard

        return RedisUsageBoard(self._redis, self._identity())

    @cached_property
    def cache(self) -> Cache:
        """The cache; without REAPER_REDIS_URL there is nothing to drop."""
        cache: Cache = self.parts.around("cache", self.parts.cache or self._cache())
        return cache

    def _cache(self) -> Cache:
        if self._redis is None:
            return NoCache()
        from reaper.cache.redis.cache import RedisCache

        return RedisCache(self._redis, self.settings.cache_key)

    @cached_property
    def paste_cache(self) -> PasteCache:
        """The cache as readers use it; without REAPER_REDIS_URL nothing is kept."""
        cache: PasteCache = self.parts.around("pastes", self.parts.paste_cache or self._paste_cache())
        return cache

    def _paste_cache(self) -> PasteCache:
        if self.settings.redis_url is None:
            return NoPasteCache()
        from reaper.cache.redis.connection import RedisConnection
        from reaper.cache.redis.paste_cache import QUICK, RedisPasteCache

        redis = RedisConnection(self.settings.redis_url.get_secret_value(), self.telemetry, QUICK)
        self._open.callback(redis.close)
        return RedisPasteCache(redis, self.settings.cache_key)

    @cached_property
    def claim_lock(self) -> ClaimLock:
        """The lock around the claim; it saves work and protects nothing."""
        lock: ClaimLock = self.parts.around("lock", self.parts.claim_lock or self._claim_lock())
        return lock

    def _claim_lock(self) -> ClaimLock:
        if self._redis is None:
            return NoClaimLock()
        from reaper.cache.redis.claim_lock import RedisClaimLock

        return RedisClaimLock(self._redis, self._identity(), self.settings.claim_lock_ttl)

    def _identity(self) -> str:
        if self.parts.identity is not None:
            return self.parts.identity
        with self.asking("check") as q:
            return q.identity()

    @cached_property
    def webhooks(self) -> Webhooks:
        """What sends events to webhooks; secrets are read where they are sent."""
        webhooks: Webhooks = self.parts.around("webhooks", self.parts.webhooks or self._http_webhooks())
        return webhooks

    def _http_webhooks(self) -> Webhooks:
        from reaper.notifications.sender import HttpWebhooks

        sender = HttpWebhooks(self.settings.variables, self.settings.allow_private_webhooks)
        self._open.callback(sender.close)
        return sender

    @cached_property
    def _redis(self) -> RedisConnection | None:
        if self.settings.redis_url is None:
            return None
        from reaper.cache.redis.connection import RedisConnection

        return RedisConnection(self.settings.redis_url.get_secret_value(), self.telemetry)
