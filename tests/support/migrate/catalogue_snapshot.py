"""Everything that the catalogue says about some schemas, as comparable lines."""

from __future__ import annotations

from typing import LiteralString

from tests.support.migrate.release_folder import admin

_QUERIES: tuple[LiteralString, ...] = (
    """select 'relation', c.oid::regclass, c.relkind, pg_get_userbyid(c.relowner),
              array(select x::text from unnest(coalesce(c.relacl,
                  acldefault(case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner))) x
                     order by 1), c.reloptions,
              obj_description(c.oid, 'pg_class')
         from pg_class c where c.relnamespace = any (%(oids)s)""",
    """select 'column', a.attrelid::regclass, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
              coll.collname, pg_get_expr(d.adbin, d.adrelid), a.attidentity, a.attgenerated, a.attstorage,
              array(select x::text from unnest(a.attacl) x
                     order by 1),
              col_description(a.attrelid, a.attnum)
         from pg_attribute a join pg_class c on c.oid = a.attrelid
         left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
         left join pg_collation coll on coll.oid = a.attcollation
        where c.relnamespace = any (%(oids)s) and a.attnum > 0 and not a.attisdropped""",
    """select 'index', pg_get_indexdef(i.indexrelid), i.indisvalid, i.indisunique, i.indisprimary
         from pg_index i join pg_class c on c.oid = i.indrelid
        where c.relnamespace = any (%(oids)s)""",
    """select 'constraint', k.conname, k.conrelid::regclass, pg_get_constraintdef(k.oid), k.convalidated,
              obj_description(k.oid, 'pg_constraint')
         from pg_constraint k where k.connamespace = any (%(oids)s)""",
    """select 'function', p.oid::regprocedure, pg_get_userbyid(p.proowner), pg_get_functiondef(p.oid),
              array(select x::text from unnest(coalesce(p.proacl, acldefault('f', p.proowner))) x
                     order by 1),
              obj_description(p.oid, 'pg_proc')
         from pg_proc p where p.pronamespace = any (%(oids)s) and p.prokind <> 'a'""",
    """select 'trigger', pg_get_triggerdef(t.oid), t.tgenabled, obj_description(t.oid, 'pg_trigger')
         from pg_trigger t join pg_class c on c.oid = t.tgrelid
        where c.relnamespace = any (%(oids)s) and not t.tgisinternal""",
    """select 'view', c.oid::regclass, pg_get_viewdef(c.oid) from pg_class c
        where c.relnamespace = any (%(oids)s) and c.relkind in ('v', 'm')""",
    """select 'type', t.oid::regtype, t.typtype, pg_get_userbyid(t.typowner),
              obj_description(t.oid, 'pg_type'),
              array(select e.enumlabel from pg_enum e where e.enumtypid = t.oid order by e.enumsortorder)
         from pg_type t where t.typnamespace = any (%(oids)s)""",
    """select 'schema', n.nspname, pg_get_userbyid(n.nspowner),
              array(select x::text from unnest(coalesce(n.nspacl, acldefault('n', n.nspowner))) x
                     order by 1),
              obj_description(n.oid, 'pg_namespace')
         from pg_namespace n where n.nspname = any (%(schemas)s)""",
    """select 'sequence', s.schemaname, s.sequencename, s.data_type, s.start_value, s.increment_by
         from pg_sequences s where s.schemaname = any (%(schemas)s)""",
)


def catalogue(dsn: str, *schemas: str) -> list[str]:
    """One line per object; columns come by name, since a dropped one shifts the numbers.

    With reaper comes reaper_internal.
    """
    if "reaper" in schemas:
        schemas += ("reaper_internal",)
    with admin(dsn) as connection:
        connection.execute("set search_path = pg_catalog")
        query = "select oid from pg_namespace where nspname = any (%s)"
        oids = [row[0] for row in connection.execute(query, (list(schemas),))]
        values = {"schemas": list(schemas), "oids": oids}
        rows = [row for query in _QUERIES for row in connection.execute(query, values)]
    return sorted(" | ".join(str(value) for value in row) for row in rows)
