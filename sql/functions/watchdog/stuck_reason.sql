-- stuck_reason: why a batch makes no progress; null if it does.
create or replace function reaper.stuck_reason(p_worker text, p_held_since timestamptz, p_now timestamptz)
    returns text
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select case when p_worker is null then 'no worker holds the batch'
                when reaper.is_silent(p_worker, p_now) then 'the worker sends no heartbeat'
                when p_held_since < p_now - interval '2 hours' then 'held for over 2 hours' end;
$$;
comment on function reaper.stuck_reason(text, timestamptz, timestamptz) is
    'Why a batch with this worker makes no progress; null if it does.';
revoke all on function reaper.stuck_reason(text, timestamptz, timestamptz) from public;
grant execute on function reaper.stuck_reason(text, timestamptz, timestamptz) to reaper_worker, reaper_ops, reaper_ro;
