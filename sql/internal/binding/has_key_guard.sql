-- has_key_guard: does the bound content table have the trigger that keeps retired object keys from being used, and does it watch the columns
-- of the binding? Without it a new content row could take a name whose object is about to be deleted.
-- A column that was renamed is followed by the trigger: it counts as watched although the binding has its former name.
create or replace function reaper_internal.has_key_guard()
    returns boolean
    language plpgsql stable
as $$
begin
    return (
        select exists (
            select from reaper.bindings b
              join pg_catalog.pg_trigger t on t.tgrelid = reaper_internal.bound_oid(b.bound_table) and t.tgname = 'reaper_retired_key'
             where b.name = 'content'
               and t.tgenabled in ('O', 'A') and t.tgtype = 21  -- for each row, after insert or update
               and t.tgfoid = to_regprocedure('reaper_internal.require_free_key()')
               and encode(t.tgargs, 'escape') = case when b.key_expression is null then 'column' else 'expression' end || '\000'
               and not exists (
                   select from pg_catalog.pg_attribute a
                    where a.attrelid = t.tgrelid and not a.attisdropped
                      and a.attname in (b.columns ->> 'content_hash', b.columns ->> 'object_key')
                      and a.attnum <> all (t.tgattr::int2[]))));
end;
$$;
comment on function reaper_internal.has_key_guard() is
    'Whether trigger reaper_retired_key on the bound content table is enabled and watches the columns of hash and object key.';
revoke all on function reaper_internal.has_key_guard() from public;
