"""Procrastinate's schema: made from the migrations of the installed package, or found, and then only used.

Forward only: the package has no way back, so a rollback keeps the schema. Its objects are unqualified, so the
steps run with the schema as search_path, and as reaper_owner, who then owns them. An installation that reaper
did not make belongs to somebody else, who upgrades it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from psycopg import sql

from reaper.db.connection import Connection
from reaper.errors import MigrationRefused
from reaper.migrate.ledger import Ledger, MigrationChain, relation_exists
from reaper.migrate.migration_files import read_foreign_migrations
from reaper.migrate.migrator_rights import OWNER
from reaper.migrate.step import Kind, Step, statements

DEFAULT = "procrastinate"
# What reaper uses of it; all of it is there since procrastinate 3.2.
_USED = {
    "regclass": ("procrastinate_jobs", "procrastinate_events", "procrastinate_workers"),
    "regtype": ("procrastinate_job_to_defer_v1",),
    "regproc": (
        "procrastinate_defer_jobs_v1",
        "procrastinate_retry_job_v2",
        "procrastinate_finish_job_v1",
    ),
}

# Workers and the tick defer, fetch and prune jobs; they have no business in the ledger beside them.
_GRANTS = """\
do $$
declare
    v_table  regclass;
    v_rights text;
begin
    grant usage on schema {s} to {roles};
    for v_table, v_rights in
        select c.oid::regclass,
               case c.relkind when 'S' then 'usage on sequence'
                              else 'select, insert, update, delete on table' end
          from pg_catalog.pg_class c
         where c.relnamespace = '{s}'::regnamespace and c.relkind in ('r', 'S')
           and c.relname like 'procrastinate\\_%'
    loop
        execute format('grant %s %s to {roles}', v_rights, v_table);
    end loop;
end;
$$;
"""
_COMMENT = "comment on schema {s} is 'The job queue, made and upgraded by reaper migrate.';\n"
_PROBLEMS = """
    with tables as (
        select c.relname from pg_catalog.pg_class c
         where c.relnamespace = (select n.oid from pg_catalog.pg_namespace n where n.nspname = %(s)s)
           and c.relkind in ('r', 'p', 'v', 'm')
    )
    select case when quote_ident(%(s)s) <> %(s)s
                then 'is a reserved word, or has to be quoted'
                when %(s)s ~ '^(pg_|information_schema$|reaper$|reaper_internal$)'
                then 'is a schema of PostgreSQL or of reaper'
                when exists (select from pg_catalog.pg_namespace n
                              cross join pg_catalog.aclexplode(n.nspacl) a
                              where n.nspname = %(s)s and a.grantee = 0 and a.privilege_type = 'CREATE')
                then 'lets every login create objects, which reaper''s functions would call'
                when not exists (select from tables t where t.relname = 'procrastinate_jobs')
                 and (%(s)s = 'public' or exists (
                     select from tables t where t.relname !~ '^(procrastinate_|_?yoyo_|migration_files$)'))
                then 'is used for other tables and has no procrastinate yet'
           end
"""
_MAY_GRANT = """
    select coalesce(bool_and(pg_has_role(c.relowner, 'USAGE')), false), min(pg_get_userbyid(c.relowner)::text)
      from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where n.nspname = %s and c.relname like 'procrastinate\\_%%' and c.relkind = 'r'
"""
_GRANTED = """
    select exists (select from pg_catalog.pg_roles where rolname = '{owner}')
       and (select bool_and(has_table_privilege(r, c.oid, 'SELECT, INSERT, UPDATE, DELETE')
                            and has_schema_privilege(r, c.relnamespace, 'USAGE'))
              from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
             cross join unnest(array['{owner}', 'reaper_worker']) as r
             where n.nspname = %s and c.relname like 'procrastinate\\_%%' and c.relkind = 'r')
"""


def read_chain(folder: Path | None, schema: str = DEFAULT) -> MigrationChain:
    """The package's migrations; an empty chain where they are left out."""
    return MigrationChain(Ledger(schema), read_foreign_migrations(folder) if folder else ())


def recorded(connection: Connection) -> str:
    """The schema that the functions of this database use."""
    known = connection.execute(
        "select exists (select from pg_catalog.pg_attribute a"
        " where a.attrelid = to_regclass('reaper.settings') and a.attname = 'queue_schema')"
    ).fetchone()
    if known != (True,):
        return DEFAULT
    row = connection.execute("select queue_schema from reaper.settings").fetchone()
    return str(row[0]) if row else DEFAULT


def is_of_others(connection: Connection, chain: MigrationChain) -> bool:
    """Whether procrastinate is there, and not by our hand."""
    if not relation_exists(connection, chain.ledger.schema, "procrastinate_jobs"):
        return False
    return not chain.ledger.applied(connection).keys() & {m.id for m in chain.migrations}


def check_name(connection: Connection, schema: str) -> None:
    """Refuse a schema in which our functions would not be safe, or that cannot be named."""
    row = connection.execute(_PROBLEMS, {"s": schema}).fetchone()
    if row and row[0]:
        raise MigrationRefused(
            f"REAPER_QUEUE_SCHEMA: schema {schema} {row[0]}",
            f"Give another name, or run: revoke create on schema {schema} from public"
            if "every login" in str(row[0])
            else "Give another name.",
        )


def check_usable(connection: Connection, schema: str) -> None:
    """Refuse an installation that lacks what reaper uses, by name; its owner upgrades it."""
    missing = [
        name
        for kind, names in _USED.items()
        for name in names
        if connection.execute(f"select to_{kind}(%s) is null", [f"{schema}.{name}"]).fetchone() == (True,)
    ]
    if missing:
        raise MigrationRefused(
            f"procrastinate in schema {schema} is too old for reaper: it has no {', '.join(missing)}",
            "Its owner applies procrastinate's migrations up to 3.4 first; reaper does not change an"
            " installation that it did not make. Or give another schema: REAPER_QUEUE_SCHEMA.",
        )


def grants(schema: str, ours: bool = True) -> str:
    """What workers, and our functions where these do not own it, may do there."""
    roles = "reaper_worker" if ours else f"{OWNER}, reaper_worker"
    return _GRANTS.format(s=schema, roles=roles) + (_COMMENT.format(s=schema) if ours else "")


def use_steps(connection: Connection, schema: str) -> Iterator[Step]:
    """Let our roles use an installation of others, where they may not yet."""
    if connection.execute(_GRANTED.format(owner=OWNER), [schema]).fetchone() == (True,):
        return
    may, owner = connection.execute(_MAY_GRANT, [schema]).fetchall()[0]
    if not may:
        raise MigrationRefused(
            f"procrastinate in schema {schema} belongs to {owner}, who has to let reaper use it",
            f"Run as {owner} (the roles must exist), then migrate again:\n{grants(schema, ours=False)}",
        )
    yield Step(
        kind=Kind.GRANT_QUEUE,
        title=f"let {OWNER} and reaper_worker use procrastinate in schema {schema}",
        locks="none on tables",
        statements=statements(grants(schema, ours=False)),
        names=(schema,),
    )


def record_steps(connection: Connection, schema: str) -> Iterator[Step]:
    """Write down where the queue is, for SQL and for every process."""
    if schema != recorded(connection):
        yield Step(
            kind=Kind.RECORD_QUEUE,
            title=f"record that jobs are queued in schema {schema}",
            locks="reaper.settings ROW EXCLUSIVE",
            statements=statements(
                f"update reaper.settings set queue_schema = {sql.Literal(schema).as_string()}"
            ),
            names=(schema,),
            role=OWNER,
        )
