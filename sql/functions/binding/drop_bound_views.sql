-- drop_bound_views: the part of unbind() that needs the rights of the owner: only that role may drop the two views.
create or replace function reaper.drop_bound_views()
    returns regclass
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '10s'  -- everything else waits behind a wait for this lock
as $$
begin
    -- Waits for transactions that use the views, and keeps others from beginning to.
    lock table reaper.bindings in access exclusive mode;
    if to_regclass('reaper.pastes') is not null then
        drop view reaper.pastes;
    end if;
    if to_regclass('reaper.content') is not null then
        drop view reaper.content;
    end if;
    perform reaper_internal.record_audit('unbind', string_agg(b.name || ' = ' || b.bound_table, ', ' order by b.name), null)
       from reaper.bindings b;
    return (select to_regclass(b.bound_table) from reaper.bindings b where b.name = 'content');
end;
$$;
comment on function reaper.drop_bound_views() is
    'For unbind(): drops the views reaper.pastes and reaper.content; until bind() no row is claimed. Returns the content table. Audited.';
revoke all on function reaper.drop_bound_views() from public;
grant execute on function reaper.drop_bound_views() to reaper_app, reaper_ops;
