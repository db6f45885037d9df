-- Creates the roles, the schemas reaper and reaper_internal, the table that says which tables of the application reaper works on, and the
-- table that records what reaper created in them, so that a rollback drops only that. Where reaper migrate runs it, roles and schema reaper
-- exist already; where yoyo runs it alone, they are created here.
-- locks: none on existing tables
do $$
begin
    if current_setting('server_encoding') <> 'UTF8' then
        raise exception sqlstate 'RP010' using
            message = format('database %s has encoding %s', current_database(), current_setting('server_encoding')),
            hint    = 'reaper needs UTF8: create a database with encoding ''UTF8'' template template0, and restore a dump of this one into it.';
    end if;
end;
$$;
-- As in sql/roles.sql.
do $$
declare
    v_role text;
begin
    foreach v_role in array array['reaper_owner', 'reaper_worker', 'reaper_app', 'reaper_ops', 'reaper_ro'] loop
        begin
            if not exists (select from pg_catalog.pg_roles r where r.rolname = v_role) then
                execute format('create role %I nologin', v_role);
            end if;
        exception when duplicate_object or unique_violation then
            null;
        end;
    end loop;
end;
$$;
-- From PostgreSQL 16 on the creator of a role gets neither its rights nor SET ROLE, and needs both to give things to it.
do $$
declare
    v_modern boolean := current_setting('server_version_num')::integer >= 160000;
begin
    if not (pg_has_role(current_user, 'reaper_owner', 'USAGE')
            and pg_has_role(current_user, 'reaper_owner', case when v_modern then 'SET' else 'MEMBER' end)) then
        execute format('grant reaper_owner to %I%s', current_user, case when v_modern then ' with inherit true, set true' else '' end);
    end if;
end;
$$;
create schema if not exists reaper authorization reaper_owner;
create schema if not exists reaper_internal authorization reaper_owner;
comment on schema reaper_internal is
    'Functions that the functions of schema reaper call. No role has any right here; signatures may change with any release.';

create table if not exists reaper.bindings (
    name            text        not null primary key constraint bindings_name_check check (name in ('pastes', 'content')),
    bound_table     text        not null,
    columns         jsonb       not null constraint bindings_columns_check check (jsonb_typeof(columns) = 'object'),
    key_expression  text        constraint bindings_key_expression_check
                                check (key_expression is null or (name = 'content' and not columns ? 'object_key')),
    keys_confirmed  boolean     constraint bindings_keys_confirmed_check check (keys_confirmed is null or name = 'content'),
    keys_checked    text,
    bound_at        timestamptz not null default now()
);
comment on table reaper.bindings is
    'Which tables of the application the views reaper.pastes and reaper.content read. Written by reaper migrate; columns also by reaper.bind().';
comment on column reaper.bindings.name is 'pastes or content.';
comment on column reaper.bindings.bound_table is 'Schema and name of the application''s table, quoted where SQL needs it.';
comment on column reaper.bindings.columns is 'Name of the table''s column for each column of the view.';
comment on column reaper.bindings.key_expression is 'Expression over the row that gives the object key, where no column holds it; null = a column holds it.';
comment on column reaper.bindings.keys_confirmed is
    'Whether objects were found under the object keys of this table: null = not looked yet, false = they were not, and nothing is claimed (RP010).';
comment on column reaper.bindings.keys_checked is 'What the last look for the objects found, in words.';
comment on column reaper.bindings.bound_at is 'When the table was bound.';
grant select on reaper.bindings to reaper_ops, reaper_ro;

create table if not exists reaper.provenance (
    kind        text        not null constraint provenance_kind_check check (kind in ('table', 'column', 'constraint', 'index')),
    table_name  text        not null,
    name        text        not null,
    made_at     timestamptz not null default now(),
    primary key (kind, table_name, name)
);
comment on table reaper.provenance is
    'What reaper created outside its own schemas, in the application''s tables. A rollback drops only these.';
comment on column reaper.provenance.kind is 'table, column, constraint or index.';
comment on column reaper.provenance.table_name is 'Schema and name of the table, as in bindings.bound_table.';
comment on column reaper.provenance.name is 'Name of the column, constraint or index; of a table its name without the schema.';
comment on column reaper.provenance.made_at is 'When reaper created it.';

grant usage on schema reaper to reaper_worker, reaper_app, reaper_ops, reaper_ro;
comment on schema reaper is 'Functions to call and views to read (docs/sql.md), and the tables behind them.';
