"""Faults drawn from a seed: a key meets the same fate at its n-th request, whoever asks first."""

import dataclasses
import random
import threading
from collections import Counter
from collections.abc import Callable

from tests.support.s3_double.memory import Reply, Request, deleted, error, refused, result


@dataclasses.dataclass(frozen=True)
class FaultRates:
    """How probable each fault is; those of a request exclude each other, so their sum is at most 1.

    busy          503 SlowDown, nothing is done
    error_in_200  status 200 with an error for a body, nothing is done
    hang          no answer until the client gives up, nothing is done
    late          no answer until the client gives up; `late_by` seconds later it is done
    lost          done, then the connection breaks without an answer
    cut           done, then the connection breaks in the middle of the answer
    key_errors    (of each key in a DeleteObjects) InternalError, not deleted
    omitted       (of each key in a DeleteObjects) not mentioned in the reply; deleted or not, as it falls
    denied        (of each key) whether deleting it is forbidden, for as long as this says so
    """

    busy: float = 0.0
    error_in_200: float = 0.0
    hang: float = 0.0
    late: float = 0.0
    lost: float = 0.0
    cut: float = 0.0
    key_errors: float = 0.0
    omitted: float = 0.0
    denied: Callable[[str], bool] = lambda _: False
    late_by: float = 0.0

    def of_request(self, chance: random.Random) -> str | None:
        """The fault that this request meets, if any."""
        names = ("busy", "error_in_200", "hang", "late", "lost", "cut")
        risks = [getattr(self, name) for name in names]
        return chance.choices([*names, None], [*risks, max(0.0, 1 - sum(risks))])[0]


@dataclasses.dataclass(frozen=True)
class Answer:
    """What the server sends, if anything, perhaps not to the end; and what it does once nobody listens."""

    reply: Reply | None = None
    breaks_off: bool = False
    when_alone: Callable[[], object] | None = None
    late_by: float = 0.0


class RandomFaults:
    """Faults that come as often as their rates say; `seen` counts what it did."""

    def __init__(self, rates: FaultRates, seed: int = 0) -> None:
        self.rates = rates
        self.seed = seed
        self.seen: Counter[str] = Counter()
        self._times: Counter[str] = Counter()
        self._lock = threading.Lock()

    def over(self, asked: Request, do: Callable[[Request], Reply]) -> Answer:
        """What becomes of a request; `do` is the store's own way to answer it."""
        fault = self.rates.of_request(self._chance(f"{asked.operation} {asked.bucket}/{first(asked)}"))
        self._see(fault or "fair")
        match fault:
            case "busy":
                return Answer(error(503, "SlowDown", "Please reduce your request rate."))
            case "error_in_200":
                return Answer(error(200, "InternalError", "We encountered an internal error."))
            case "hang":
                return Answer(when_alone=lambda: None)
            case "late":
                return Answer(when_alone=lambda: do(asked), late_by=self.rates.late_by)
            case "lost":
                do(asked)
                return Answer(Reply(None))
        return Answer(self._fair(asked, do), breaks_off=fault == "cut")

    def _fair(self, asked: Request, do: Callable[[Request], Reply]) -> Reply:
        if asked.operation == "delete_object" and self.rates.denied(asked.key):
            self._see("denied")
            return error(403, "AccessDenied")
        if asked.operation != "delete_objects":
            return do(asked)
        return self._key_by_key(asked, do)

    def _key_by_key(self, asked: Request, do: Callable[[Request], Reply]) -> Reply:
        fates = {key: self._fate(asked.bucket, key) for key in asked.keys}
        self._see(*(fate for fate in fates.values() if fate != "deleted"))
        going = tuple(key for key, fate in fates.items() if fate in ("deleted", "omitted, deleted"))
        if going:
            reply = do(dataclasses.replace(asked, keys=going))
            if reply.status != 200:
                return reply
        codes = {"key_errors": "InternalError", "denied": "AccessDenied"}
        said = "" if asked.quiet else deleted(*(key for key, fate in fates.items() if fate == "deleted"))
        return result(said, *(refused(key, codes[fate]) for key, fate in fates.items() if fate in codes))

    def _fate(self, bucket: str, key: str) -> str:
        if self.rates.denied(key):
            return "denied"
        chance = self._chance(f"key {bucket}/{key}")
        drawn = chance.random()
        if drawn < self.rates.key_errors:
            return "key_errors"
        if drawn < self.rates.key_errors + self.rates.omitted:
            return chance.choice(("omitted, deleted", "omitted"))
        return "deleted"

    def _chance(self, what: str) -> random.Random:
        """Dice for the n-th time that this is asked; other requests do not change how they fall."""
        with self._lock:
            self._times[what] += 1
            return random.Random(f"{self.seed} {what} {self._times[what]}")

    def _see(self, *what: str) -> None:
        with self._lock:
            self.seen.update(what)


def first(asked: Request) -> str:
    """What tells one request of an operation from others; for a page of a listing, where it begins."""
    if asked.keys:
        return asked.keys[0]
    return " ".join(asked.query.get(name, "") for name in ("prefix", "start-after", "continuation-token"))
