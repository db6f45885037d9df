-- due_summary: the backlog as the view health shows it. Cheap: due rows are counted up to 100,000, and the oldest row that waits, neither
-- claimed nor blocked, is looked for among the oldest 200,000. While the tables are unbound nothing is known of them, which health says.
create or replace function reaper.due_summary(p_now timestamptz)
    returns table (due_rows bigint, oldest_due timestamptz, oldest_waiting timestamptz)
    language plpgsql stable security definer rows 1
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
    set plan_cache_mode = force_custom_plan  -- only a known array is hashed: blocked rows are looked up, not walked
as $$
#variable_conflict use_column
declare
    v_blocked text[] := array(select b.short_code from reaper.blocked b where b.next_attempt > p_now limit 200000);
begin
    select count(*), min(d.expires_at)
      into due_rows, oldest_due
      from (select p.expires_at from reaper.pastes p where p.expires_at <= p_now order by p.expires_at limit 100000) as d;
    select o.expires_at
      into oldest_waiting
      from (select p.expires_at, p.short_code, p.deletion_status
              from reaper.pastes p
             where p.expires_at <= p_now
             order by p.expires_at
             limit 200000) as o
     where o.deletion_status is distinct from 'DELETION_IN_PROGRESS'
       and o.short_code <> all (v_blocked)
     limit 1;
    return next;
exception when undefined_table then
    return next;
end;
$$;
comment on function reaper.due_summary(timestamptz) is
    'Number of due pastes (100000 = at least that many), expiry of the oldest, and expiry of the oldest that is neither claimed nor blocked.';
revoke all on function reaper.due_summary(timestamptz) from public;
grant execute on function reaper.due_summary(timestamptz) to reaper_worker, reaper_ops, reaper_ro;
