-- due_ages: for how long the pastes that are due now have been due, as quantiles over the oldest 100,000. One walk of the index on expires_at.
create or replace function reaper_internal.due_ages(p_now timestamptz)
    returns table (p50 numeric, p99 numeric)
    language plpgsql stable
as $$
begin
    select extract(epoch from p_now - percentile_disc(0.5) within group (order by d.expires_at)),
           extract(epoch from p_now - percentile_disc(0.01) within group (order by d.expires_at))
      into p50, p99
      from (select p.expires_at from reaper.pastes p
             where p.expires_at <= p_now and isfinite(p.expires_at) order by p.expires_at limit 100000) as d;
    p50 := coalesce(p50, 0);
    p99 := coalesce(p99, 0);
    return next;
exception when undefined_table then
    -- While the tables are unbound nothing is known of them; the verdict says so.
    return next;
end;
$$;
comment on function reaper_internal.due_ages(timestamptz) is
    'For health_gauges: median and 99th percentile of the seconds since expiry, of the oldest 100000 due pastes.';
revoke all on function reaper_internal.due_ages(timestamptz) from public;
