"""What each process has used, in Redis: what one that dies had told within its last second is not lost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from redis.exceptions import ResponseError

from reaper.cache.redis.address import Client
from reaper.cache.redis.connection import RedisConnection, RedisUnavailable
from reaper.cache.redis.key_names import OURS
from reaper.model import UsageRow

NAMES = OURS + "usage:"
# Longer than a month is open; whatever nobody takes away goes by itself.
LIFE = timedelta(days=40)


class RedisUsageBoard:
    """A UsageBoard: one hash, with a field for each process."""

    def __init__(self, redis: RedisConnection, identity: str) -> None:
        self.name = NAMES + identity
        self._redis = redis

    def publish(self, rows: Sequence[UsageRow], now: datetime) -> bool:
        """Tell the totals of one process; False where Redis does not take them."""
        told = json.dumps({"at": now.timestamp(), "rows": [row.as_dict() for row in rows]})
        try:
            answers = self._redis.ask_all(
                [
                    ("HSET", self.name, str(rows[0].process), told),
                    ("EXPIRE", self.name, round(LIFE.total_seconds())),
                ]
            )
        except (RedisUnavailable, ResponseError):
            return False
        return not any(isinstance(answer, Exception) for answer in answers)

    def read(self) -> list[UsageRow]:
        """The totals of all processes; what is no report is passed over."""
        return [row for process, told in self._all() for row in _rows(process, told)]

    def forget(self, before: datetime) -> int:
        """Take away who has told nothing since then, and what is no report; returns how many."""
        old = [process for process, told in self._all() if _told_at(told) < before.timestamp()]

        def take_away(client: Client) -> int:
            return int(client.hdel(self.name, *old))

        try:
            return self._redis.ask(take_away) if old else 0
        except (RedisUnavailable, ResponseError):
            return 0

    def _all(self) -> list[tuple[str, Any]]:
        def everything(client: Client) -> list[tuple[bytes | str, bytes | str]]:
            return list(client.hgetall(self.name).items())

        try:
            found = self._redis.ask(everything)
        except (RedisUnavailable, ResponseError):
            return []
        return [(_text(process), _parsed(told)) for process, told in found]


def _text(value: bytes | str) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _parsed(told: bytes | str) -> Any:
    try:
        return json.loads(told)
    except ValueError:
        return None


def _told_at(told: Any) -> float:
    at = told.get("at") if isinstance(told, dict) else None
    return float(at) if isinstance(at, int | float) else 0.0


def _rows(process: str, told: Any) -> Iterator[UsageRow]:
    rows = told.get("rows") if isinstance(told, dict) else None
    for row in rows if isinstance(rows, list) else []:
        try:
            found = UsageRow.from_dict(row)
        except (TypeError, ValueError, KeyError):
            continue
        # A process tells of itself.
        if str(found.process) == process:
            yield found
