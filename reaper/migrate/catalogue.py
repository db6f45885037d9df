"""The functions, views and triggers that are in the database now, and what hangs on what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from reaper.db.connection import Connection

SCHEMAS = {
    "functions": "reaper",
    "internal": "reaper_internal",
    "views": "reaper",
    "triggers": "reaper",
}


class Named(NamedTuple):
    """An object of our schemas (or a trigger that calls into them) by kind and name."""

    kind: str
    name: str

    @property
    def schema(self) -> str:
        """The schema that it is in; for a trigger that of its function."""
        return SCHEMAS[self.kind]


@dataclass(frozen=True)
class Found:
    """An object that is there: how DROP calls it, and the types of a routine's arguments."""

    named: Named
    oid: int
    address: str
    arguments: str

    @property
    def key(self) -> tuple[str, int]:
        """The catalogue that has it, and its number there."""
        return {"views": "pg_class", "triggers": "pg_trigger"}.get(self.named.kind, "pg_proc"), self.oid


Objects = Mapping[Named, tuple[Found, ...]]

_OBJECTS = """
    select case n.nspname when 'reaper' then 'functions' else 'internal' end, p.proname::text, p.oid,
           format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)),
           oidvectortypes(p.proargtypes)
      from pg_catalog.pg_proc p
      join pg_catalog.pg_namespace n on n.oid = p.pronamespace
     where n.nspname in ('reaper', 'reaper_internal')
    union all
    select 'views', c.relname::text, c.oid, format('%I.%I', n.nspname, c.relname), ''
      from pg_catalog.pg_class c
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'reaper' and c.relkind = 'v'
    union all
    select 'triggers', t.tgname::text, t.oid, format('%I on %I.%I', t.tgname, n.nspname, c.relname), ''
      from pg_catalog.pg_trigger t
      join pg_catalog.pg_proc p on p.oid = t.tgfoid
      join pg_catalog.pg_namespace f on f.oid = p.pronamespace
      join pg_catalog.pg_class c on c.oid = t.tgrelid
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where f.nspname in ('reaper', 'reaper_internal') and not t.tgisinternal and t.tgparentid = 0
     order by 1, 2, 4
"""
# A view hangs on its rule, a rule on what the view reads; a row type hangs on its view.
_DEPENDENTS = """
    with recursive dep (root, classid, objid) as (
        select r.oid, r.class::regclass::oid, r.oid from unnest(%s::text[], %s::oid[]) as r (class, oid)
        union
        select dep.root, x.classid, x.objid
          from dep
         cross join lateral (
            select d.classid, d.objid from pg_catalog.pg_depend d
             where d.refclassid = dep.classid and d.refobjid = dep.objid and d.deptype in ('n', 'a')
            union all
            select 'pg_class'::regclass, r.ev_class from pg_catalog.pg_rewrite r
             where dep.classid = 'pg_rewrite'::regclass and r.oid = dep.objid
            union all
            select 'pg_type'::regclass, c.reltype from pg_catalog.pg_class c
             where dep.classid = 'pg_class'::regclass and c.oid = dep.objid and c.reltype <> 0
         ) x
    )
    select dep.root, c.relname::text, dep.objid
      from dep
      join pg_catalog.pg_class c on c.oid = dep.classid
"""
# Each word drops several objects at once, which may then hang on each other; nothing hangs on a trigger.
_DROPS = (
    ("trigger", {"triggers"}, False),
    ("view", {"views"}, True),
    ("routine", {"functions", "internal"}, True),
)


def read_objects(connection: Connection) -> Objects:
    """Everything of ours, and what others put into our schemas."""
    objects: defaultdict[Named, tuple[Found, ...]] = defaultdict(tuple)
    for kind, name, oid, address, arguments in connection.execute(_OBJECTS):
        named = Named(kind, name)
        objects[named] += (Found(named, oid, address, arguments),)
    return dict(objects)


def read_dependents(
    connection: Connection, objects: Objects, of: Collection[Named]
) -> dict[Named, set[Named]]:
    """Which of these objects could not stay if another one went, for each of those that are asked about."""
    roots = {found.oid: found for named in of for found in objects.get(named, ())}
    by_key = {found.key: named for named, all_ in objects.items() for found in all_}
    classes = [found.key[0] for found in roots.values()]
    hanging: dict[Named, set[Named]] = {named: set() for named in of}
    for root, class_, oid in connection.execute(_DEPENDENTS, (classes, list(roots))):
        named = by_key.get((class_, oid))
        if named is not None and named != roots[root].named:
            hanging[roots[root].named].add(named)
    return hanging


def drop_statements(objects: Objects, targets: Collection[Named]) -> list[str]:
    """The statements that drop what has these names; without CASCADE, so that nothing else goes."""
    drops: list[str] = []
    for word, kinds, together in _DROPS:
        found = [
            each.address
            for named, all_ in objects.items()
            for each in all_
            if named in targets and named.kind in kinds
        ]
        lists = [", ".join(found)] if together and found else found
        drops += [f"drop {word} if exists {addresses}" for addresses in lists]
    return drops
