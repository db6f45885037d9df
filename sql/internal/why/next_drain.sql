-- next_drain: when the next drain runs, as text.
create or replace function reaper_internal.next_drain()
    returns text
    language sql stable
as $$
    select coalesce((select case when not s.enabled then 'the drain is switched off: reaper service enable drain'
                                 when s.paused_until > reaper.clock() then format('the drain is paused until %s: %s', s.paused_until, s.pause_reason)
                                 when s.next_run_at is null then 'no worker has planned a drain yet: start one, or run reaper drain'
                                 when s.next_run_at <= reaper.clock() then 'the next drain is due now'
                                 else format('the next drain is at %s', s.next_run_at) end
                       from reaper.services s
                      where s.name = 'drain'),
                    'the drain is not registered: run reaper migrate');
$$;
comment on function reaper_internal.next_drain() is
    'For why: when the next drain runs, or why it does not.';
revoke all on function reaper_internal.next_drain() from public;
