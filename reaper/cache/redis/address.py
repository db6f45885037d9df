"""What REAPER_REDIS_URL may say: one server, Sentinel or Cluster; and a client for it.

redis://[user:password@]host:port/0                                rediss:// with TLS
unix:///path/to/socket?db=0
redis+sentinel://[user:password@]host:port,host:port/service/0     ?sentinel_username=, ?sentinel_password=
redis+cluster://[user:password@]host:port,host:port                rediss+… with TLS
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit

from redis import Redis, RedisCluster
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode
from redis.connection import parse_url
from redis.exceptions import RedisError
from redis.retry import Retry
from redis.sentinel import Sentinel

from reaper.errors import ConfigError

Client = Redis | RedisCluster
SENTINEL_PORT, REDIS_PORT = 26379, 6379
BAD_URL = "REAPER_REDIS_URL is not a valid Redis URL"
HINT = (
    "Write redis://user:password@host:6379/0, unix:///path?db=0, redis+cluster://host:6379,host:6379 "
    "or redis+sentinel://host:26379/service/0; rediss for TLS; special characters in a password as %XX."
)


@dataclass(frozen=True)
class Address:
    """Where Redis is; only `where` may be shown."""

    kind: str
    where: str
    nodes: tuple[tuple[str, int], ...] = ()
    service: str = ""
    login: dict[str, Any] = field(default_factory=dict, repr=False)
    sentinel_login: dict[str, Any] = field(default_factory=dict, repr=False)


def read(url: str) -> Address:
    """The address in a URL; what is wrong with it is told without any part of it."""
    try:
        parts = urlsplit(url)
        tls, _, kind = parts.scheme.partition("+")
        if tls not in ("redis", "rediss", "unix") or kind not in ("", "sentinel", "cluster"):
            raise ValueError
        address = _several(parts, tls, kind) if kind else _single(url, parts)
        _try_options(address)
    except (ValueError, TypeError):
        # The cause may quote the URL, and so the password.
        raise ConfigError(BAD_URL, HINT) from None
    return address


def connect(address: Address, connect_timeout: float, timeout: float) -> Client:
    """A client that gives up after its timeouts; that of a cluster asks for the topology at once."""
    limits: dict[str, Any] = {
        "socket_connect_timeout": connect_timeout,
        "socket_timeout": timeout,
        # The protocol that every version speaks: no question more at the start of a connection.
        "protocol": 2,
    }
    once = Retry(NoBackoff(), 0)
    login = {**limits, **address.login}
    if address.kind == "cluster":
        nodes = [ClusterNode(host, port) for host, port in address.nodes]  # type: ignore[no-untyped-call]
        return RedisCluster(startup_nodes=nodes, retry=once, **login)
    if address.kind == "sentinel":
        asking = {**limits, "retry": once, **address.sentinel_login}
        sentinel: Any = Sentinel(address.nodes, sentinel_kwargs=asking)  # type: ignore[no-untyped-call]
        primary: Redis = sentinel.master_for(address.service, retry=once, **login)
        return primary
    return Redis(retry=once, **login)


def _single(url: str, parts: SplitResult) -> Address:
    login = _options(url)
    where = (
        parts.path
        if parts.scheme == "unix"
        else f"{login.get('host', 'localhost')}:{parts.port or REDIS_PORT}"
    )
    if "path" in login:
        login["unix_socket_path"] = login.pop("path")
    return Address("single", where, login=login)


def _several(parts: SplitResult, tls: str, kind: str) -> Address:
    userinfo, at, hosts = parts.netloc.rpartition("@")
    nodes = tuple(
        _node(host, SENTINEL_PORT if kind == "sentinel" else REDIS_PORT) for host in hosts.split(",")
    )
    service, _, database = parts.path.strip("/").partition("/")
    if kind == "cluster":
        service, database = "", service
    login = _options(f"{tls}://{userinfo}{at}host/{database}?{parts.query}")
    del login["host"]
    sentinel_login = {
        name: login.pop(f"sentinel_{name}")
        for name in ("username", "password")
        if f"sentinel_{name}" in login
    }
    if (kind == "sentinel") != bool(service) or (kind == "cluster" and login.pop("db", 0) != 0):
        raise ValueError
    where = ",".join(f"{host}:{port}" for host, port in nodes) + (f" ({service})" if service else "")
    return Address(kind, where, nodes, service, login, sentinel_login)


def _options(url: str) -> dict[str, Any]:
    """What redis-py reads in a URL, as its clients take it."""
    options: dict[str, Any] = parse_url(url)  # type: ignore[no-untyped-call]
    kind = options.pop("connection_class", None)
    return {**options, "ssl": True} if kind is not None and "path" not in options else options


def _node(text: str, default_port: int) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    if not parts.hostname:
        raise ValueError
    return parts.hostname, parts.port or default_port


def _try_options(address: Address) -> None:
    """An option that redis-py does not know shows when a connection is made: make one, and do not open it."""
    try:
        with Redis(**address.login) as client:
            pool = client.connection_pool
            pool.connection_class(**pool.connection_kwargs)
    except RedisError:
        raise ValueError from None
