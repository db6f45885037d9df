-- bound_oid: the table that has a name now. Unlike to_regclass it needs no right on the schema: a right that is missing is to be told, not
-- to end in an error.
create or replace function reaper_internal.bound_oid(p_bound_table text)
    returns regclass
    language plpgsql stable
as $$
begin
    return (
        select c.oid::regclass
          from pg_catalog.pg_class c
          join pg_catalog.pg_namespace n on n.oid = c.relnamespace
         where n.nspname = (parse_ident(p_bound_table))[1] and c.relname = (parse_ident(p_bound_table))[2]);
end;
$$;
comment on function reaper_internal.bound_oid(text) is
    'The table with this schema and name; null if there is none.';
revoke all on function reaper_internal.bound_oid(text) from public;
