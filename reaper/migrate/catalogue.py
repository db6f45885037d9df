"""Questions to the system catalogue about the objects that the code files make."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from reaper.db.connection import Connection

# The schema of each kind of function: what people call, and what only our own functions call.
SCHEMAS = {"functions": "reaper", "internal": "reaper_internal"}


class Named(NamedTuple):
    """An object of our schemas (or a trigger that calls into them) by kind and name."""

    kind: str
    name: str

    def __str__(self) -> str:
        if self.kind in SCHEMAS:
            return f"function {SCHEMAS[self.kind]}.{self.name}"
        return f"{self.kind.removesuffix('s')} {self.name}"


_ROUTINES = """
    select p.oid, format('%%I.%%I(%%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid))
      from pg_catalog.pg_proc p
      join pg_catalog.pg_namespace n on n.oid = p.pronamespace
     where n.nspname = %s and p.proname = %s
"""
_DROP_TRIGGER = """
    select format('drop trigger %%I on %%I.%%I', t.tgname, n.nspname, c.relname)
      from pg_catalog.pg_trigger t
      join pg_catalog.pg_proc p on p.oid = t.tgfoid
      join pg_catalog.pg_class c on c.oid = t.tgrelid
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where t.tgname = %s and not t.tgisinternal and t.tgparentid = 0
       and p.pronamespace in (to_regnamespace('reaper'), to_regnamespace('reaper_internal'))
"""
_DROP_VIEW = """
    select format('drop %%s if exists reaper.%%I cascade',
                  case c.relkind when 'm' then 'materialized view' else 'view' end, c.relname)
      from pg_catalog.pg_class c
     where c.relnamespace = 'reaper'::regnamespace and c.relname = %s and c.relkind in ('v', 'm')
"""
_VIEW_OID = """
    select c.oid from pg_catalog.pg_class c
     where c.relnamespace = 'reaper'::regnamespace and c.relname = %s and c.relkind in ('v', 'm')
"""
# A view hangs on its rule, a rule on what the view reads; a row type hangs on its view.
_DEPENDENTS = """
    with recursive dep (classid, objid) as (
        select r.class::regclass::oid, r.oid from unnest(%s::text[], %s::oid[]) as r (class, oid)
        union
        select x.classid, x.objid
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
    select distinct o.type, o.schema, o.identity, coalesce(o.name, p.proname, t.tgname, '')
      from dep
     cross join lateral pg_catalog.pg_identify_object(dep.classid, dep.objid, 0) o
      left join pg_catalog.pg_trigger t on dep.classid = 'pg_trigger'::regclass and t.oid = dep.objid
      left join pg_catalog.pg_proc p on dep.classid = 'pg_proc'::regclass and p.oid = dep.objid
     where o.type not in ('rule', 'type')
"""
_ROUTINE_TYPES = ("function", "procedure", "aggregate")
_VIEW_TYPES = ("view", "materialized view")


def routines(connection: Connection, target: Named) -> dict[int, str]:
    """The signatures, by oid, of all routines of that name; empty for other kinds."""
    if target.kind not in SCHEMAS:
        return {}
    return dict(connection.execute(_ROUTINES, (SCHEMAS[target.kind], target.name)).fetchall())


def drop_statements(connection: Connection, target: Named) -> list[str]:
    """The statements that drop what bears the name now."""
    if target.kind in SCHEMAS:
        return [f"drop routine if exists {text} cascade" for text in routines(connection, target).values()]
    query = _DROP_TRIGGER if target.kind == "triggers" else _DROP_VIEW
    return [row[0] for row in connection.execute(query, (target.name,))]


def relation_oids(connection: Connection, target: Named) -> list[tuple[str, int]]:
    """The view of that name as (catalogue, oid); nothing depends on a trigger."""
    if target.kind != "views":
        return []
    return [("pg_class", row[0]) for row in connection.execute(_VIEW_OID, (target.name,))]


def dependents(connection: Connection, objects: list[tuple[str, int]], ours: Collection[Named]) -> list[str]:
    """What a CASCADE would drop along that is not among our own objects."""
    classes, oids = [o[0] for o in objects], [o[1] for o in objects]
    found = connection.execute(_DEPENDENTS, (classes, oids)).fetchall()
    return sorted(
        f"{type_} {identity}"
        for type_, schema, identity, name in found
        if not _is_ours(type_, schema, name, ours)
    )


def _is_ours(type_: str, schema: str | None, name: str, ours: Collection[Named]) -> bool:
    if type_ == "trigger":
        return Named("triggers", name) in ours
    if type_ in _VIEW_TYPES:
        return schema == "reaper" and Named("views", name) in ours
    return type_ in _ROUTINE_TYPES and any(
        schema == SCHEMAS[kind] and Named(kind, name) in ours for kind in SCHEMAS
    )
