-- resume: end a pause early.
create or replace function reaper.resume(p_name text, p_reason text default null)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    perform reaper_internal.lock_service_row(p_name);
    -- What was missed counts from now on: a run that starts at once is not late, and starts before the pause no longer count.
    update reaper.services s
       set paused_until = null, paused_by = null, pause_reason = null, waiting_since = null, unplanned_since = reaper.clock(),
           recent_starts = array(select k.start from unnest(s.recent_starts) as k (start) where k.start >= coalesce(s.paused_until, '-infinity')),
           next_run_at = case when s.paused_until > s.next_run_at then greatest(s.next_run_at, least(s.paused_until, reaper.clock())) else s.next_run_at end
     where s.name = p_name;
    perform reaper_internal.record_audit('resume', p_name, p_reason);
end;
$$;
comment on function reaper.resume(text, text) is
    'Ends a pause; a run missed during the pause starts at once.';
revoke all on function reaper.resume(text, text) from public;
grant execute on function reaper.resume(text, text) to reaper_ops;
