-- stale_uploads_before: uploads in parts whose last part was stored before this are abandoned.
create or replace function reaper.stale_uploads_before()
    returns timestamptz
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select reaper.clock() - s.multipart_max_age from reaper.settings s;
$$;
comment on function reaper.stale_uploads_before() is
    'The time that is settings.multipart_max_age ago.';
revoke all on function reaper.stale_uploads_before() from public;
grant execute on function reaper.stale_uploads_before() to reaper_worker, reaper_ops, reaper_ro;
