"""Which function of ours calls which, and with what planner settings each runs, read from the catalogue."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from tests.support.paste_fixtures import Connection

# What application and operation let grow.
LARGE = (
    *("pastes", "content", "object_locations", "put_intents", "byte_deltas", "batches", "invalidations"),
    *("cleanup_queue", "cleanup_dlq", "retired_keys", "runs", "drift"),
)
_FUNCTIONS = """
select proname, pronamespace = 'reaper_internal'::regnamespace, prosrc,
       array(select c from unnest(proconfig) c where c ~ '^(enable_|jit=|plan_cache_mode=)' order by c)
  from pg_proc
 where pronamespace in ('reaper'::regnamespace, 'reaper_internal'::regnamespace)
"""
_CALL = re.compile(r"\breaper(?:_internal)?\.(\w+)\(")
# What messages and hints tell a person to call is not called.
_TEXT = re.compile(r"'(?:[^']|'')*'")
_READ = re.compile(r"\b(?:from|join|into|update|using) (?:public|reaper)\.(\w+)\b")

Settings = frozenset[str]


@dataclass(frozen=True)
class Function:
    """One of ours, as PostgreSQL has it."""

    name: str
    internal: bool
    source: str
    settings: tuple[str, ...]

    @property
    def reads_large_tables(self) -> bool:
        return not {match[1] for match in _READ.finditer(self.source)}.isdisjoint(LARGE)


class CallGraph:
    """All of them."""

    def __init__(self, db: Connection) -> None:
        rows = [Function(*row[:3], tuple(row[3])) for row in db.execute(_FUNCTIONS)]
        self.functions = {function.name: function for function in rows}

    def callees(self, name: str) -> set[str]:
        found = {match[1] for match in _CALL.finditer(_TEXT.sub("''", self.functions[name].source))}
        return (found & self.functions.keys()) - {name}

    def reached_from(self, name: str) -> set[str]:
        """All that a call of this one may run, itself included."""
        return {function for function, _ in self._walk(name)}

    def contexts(self) -> dict[str, dict[Settings, set[str]]]:
        """For each internal function the settings it may run with, and the entry points that lead to them."""
        found: dict[str, dict[Settings, set[str]]] = defaultdict(lambda: defaultdict(set))
        for entry in [f for f in self.functions.values() if not f.internal]:
            for name, settings in self._walk(entry.name):
                if self.functions[name].internal:
                    found[name][settings].add(entry.name)
        return found

    def _walk(self, entry: str) -> Iterator[tuple[str, Settings]]:
        seen: set[tuple[str, Settings]] = set()
        waiting: list[tuple[str, Settings]] = [(entry, frozenset())]
        while waiting:
            name, outer = waiting.pop()
            own = dict(each.split("=") for each in self.functions[name].settings)
            inner = frozenset(
                {f"{key}={value}" for key, value in (dict(each.split("=") for each in outer) | own).items()}
            )
            if (name, inner) in seen:
                continue
            seen.add((name, inner))
            yield name, inner
            waiting += [(callee, inner) for callee in self.callees(name)]
