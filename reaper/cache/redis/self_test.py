"""Tries what reaper does in Redis, on keys of its own: a server that answers PING may refuse the rest."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from redis.exceptions import NoPermissionError, ReadOnlyError, ResponseError

from reaper.cache.redis.address import Client
from reaper.cache.redis.claim_lock import RELEASE
from reaper.cache.redis.connection import RedisConnection, RedisUnavailable, reason
from reaper.cache.redis.key_names import OURS, KeyNames
from reaper.errors import ConfigError, Unreachable

# The keys are gone by themselves, should the process end before it removes them.
LIFE_MS = 5_000
_REPLICA = "Give REAPER_REDIS_URL the address of the primary, or of Sentinel (redis+sentinel://…)."
_RIGHTS = "Allow it: ACL SETUSER <login> ~{ours}* ~{entries} +set +get +del +unlink +exists +scan +eval +ping"


def try_commands(redis: RedisConnection, names: KeyNames) -> None:
    """SET NX, EVAL and UNLINK; ConfigError with the command and the remedy where one is refused."""
    token = secrets.token_hex(8)
    own, entry = f"{OURS}check:{token}", names.entry(f"reaper-check-{token}")
    rights = _RIGHTS.format(ours=OURS, entries=names.entry("*"))
    steps: dict[str, Callable[[Client], object]] = {
        "SET NX": lambda client: client.set(own, token, nx=True, px=LIFE_MS),
        "EVAL": lambda client: client.eval(RELEASE, 1, own, token),
        "UNLINK": lambda client: client.execute_command("UNLINK", entry),  # type: ignore[no-untyped-call]
    }
    for command, step in steps.items():
        try:
            redis.ask(step)
        except RedisUnavailable as away:
            raise Unreachable(f"Redis did not answer {command}: {away.reason}") from None
        except ResponseError as error:
            if command == "UNLINK" and str(error).lower().startswith("unknown command"):
                # Such a server gets DEL; for the others there is nothing else.
                continue
            raise _refusal(command, error, rights) from None


def _refusal(command: str, error: ResponseError, rights: str) -> ConfigError:
    if isinstance(error, ReadOnlyError) or "read only replica" in str(error).lower():
        return ConfigError(f"Redis is a read-only replica: it refuses {command}", _REPLICA)
    if isinstance(error, NoPermissionError):
        return ConfigError(f"the login may not use {command} in Redis: {reason(error)}", rights)
    return ConfigError(f"Redis refuses {command}: {reason(error)}", "See the log of the Redis server.")
