-- bind: make the views reaper.pastes and reaper.content, and the guard of object keys, from what reaper.bindings says.
-- In one transaction with unbind(), the application can change its own columns in between; others wait for that transaction, and nothing
-- is claimed by a view that is missing or reads another table (RP010).
create or replace function reaper.bind(p_columns jsonb default '{}')
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '10s'  -- everything else waits behind a wait for this lock
as $$
begin
    -- Waits for transactions that use the views, and keeps others from beginning to.
    lock table reaper.bindings in access exclusive mode;
    perform reaper_internal.require_bound_columns(p_columns);
    perform reaper_internal.require_table_owner(t.name) from jsonb_object_keys(p_columns) as t (name);
    update reaper.bindings b
       set columns = b.columns || (p_columns -> b.name), bound_at = now(),
           -- Another column of keys must be looked at before anything is deleted by it.
           keys_confirmed = case when p_columns -> b.name ?| '{object_key,content_hash}' then null else b.keys_confirmed end,
           keys_checked   = case when p_columns -> b.name ?| '{object_key,content_hash}' then null else b.keys_checked end
     where p_columns ? b.name;
    perform reaper_internal.create_bound_views();
    perform reaper_internal.require_bound_types();
    perform reaper_internal.record_audit('bind', string_agg(b.name || ' = ' || b.bound_table, ', ' order by b.name), null, p_columns::text)
       from reaper.bindings b;
end;
$$;
comment on function reaper.bind(jsonb) is
    'Creates the views reaper.pastes and reaper.content over the application''s tables, after unbind() or after a column was renamed: '
    'p_columns names new columns, such as {"pastes": {"expires_at": "valid_until"}}. only the owner of the table may. RP005 for an unknown name, RP010 if a table or column does not exist or cannot have its part. Audited.';
revoke all on function reaper.bind(jsonb) from public;
grant execute on function reaper.bind(jsonb) to reaper_app, reaper_ops;
