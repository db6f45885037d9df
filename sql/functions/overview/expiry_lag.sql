-- expiry_lag: for how long the pastes that are due now have been due. One walk of the index on expires_at, over the oldest 20,000; a bounded
-- look, so that it can be repeated every few seconds. Nothing is known while the tables are unbound, which health says.
create or replace function reaper.expiry_lag()
    returns table (p50 interval, p99 interval)
    language plpgsql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_now timestamptz := reaper.clock();
begin
    select v_now - percentile_disc(0.5) within group (order by d.expires_at),
           v_now - percentile_disc(0.01) within group (order by d.expires_at)
      into p50, p99
      from (select p.expires_at from reaper.pastes p
             where p.expires_at <= v_now and isfinite(p.expires_at) order by p.expires_at limit 20000) as d;
    return next;
exception when undefined_table then
    return next;
end;
$$;
comment on function reaper.expiry_lag() is
    'Median and 99th percentile of the time since expiry, over the oldest 20000 due pastes; null if none is due.';
revoke all on function reaper.expiry_lag() from public;
grant execute on function reaper.expiry_lag() to reaper_worker, reaper_ops, reaper_ro;
