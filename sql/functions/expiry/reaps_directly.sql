-- reaps_directly: how drains are to take due rows.
create or replace function reaper.reaps_directly()
    returns boolean
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select s.claim_mode = 'direct' from reaper.settings s;
$$;
comment on function reaper.reaps_directly() is
    'Whether settings.claim_mode is direct: workers and reaper drain release due rows by reap_batch instead of claim_expired and drop_batch.';
revoke all on function reaper.reaps_directly() from public;
grant execute on function reaper.reaps_directly() to reaper_worker, reaper_ops, reaper_ro;
