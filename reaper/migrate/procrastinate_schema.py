"""Procrastinate's schema, made from the migrations of the installed package.

Forward only: the package has no way back, so a rollback keeps the schema. Its objects
are unqualified, so the steps run with search_path = procrastinate, and as reaper_owner, who then owns them.
"""

from __future__ import annotations

from pathlib import Path

from reaper.migrate.ledger import Ledger, MigrationChain
from reaper.migrate.migration_files import read_foreign_migrations

SCHEMA = "procrastinate"

# Workers and the tick defer, fetch and prune jobs; they have no business in the ledger beside them.
GRANTS = """\
do $$
declare
    v_table regclass;
begin
    grant usage on schema procrastinate to reaper_worker;
    grant usage on all sequences in schema procrastinate to reaper_worker;
    for v_table in
        select c.oid::regclass from pg_catalog.pg_class c
         where c.relnamespace = 'procrastinate'::regnamespace and c.relkind = 'r'
           and c.relname like 'procrastinate\\_%'
    loop
        execute format('grant select, insert, update, delete on %s to reaper_worker', v_table);
    end loop;
end;
$$;
comment on schema procrastinate is 'The job queue, made and upgraded by reaper migrate.';
"""


def read_chain(folder: Path | None) -> MigrationChain:
    """The package's migrations; an empty chain where they are left out."""
    return MigrationChain(Ledger(SCHEMA), read_foreign_migrations(folder) if folder else ())
