-- next_drain: when a drain will take what is due, in words.
create or replace function reaper_internal.next_drain()
    returns text
    language sql stable
as $$
    select coalesce((select case when not s.enabled then 'the drain is switched off: reaper service enable drain'
                                 when s.paused_until > reaper.clock() then format('the drain is paused until %s: %s', s.paused_until, s.pause_reason)
                                 when s.next_run_at is null or s.next_run_at <= reaper.clock() then 'the next drain takes it'
                                 else format('the next drain is at %s', s.next_run_at) end
                       from reaper.services s
                      where s.name = 'drain'),
                    'no worker has registered the drain yet: reaper drain takes it now');
$$;
comment on function reaper_internal.next_drain() is
    'For why: when the next drain runs, or what keeps it from running.';
revoke all on function reaper_internal.next_drain() from public;
