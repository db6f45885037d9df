-- state_of_paste: why a paste is still stored, or that it is deleted. Null if nothing is known of the code.
create or replace function reaper_internal.state_of_paste(p_short_code text)
    returns text
    language sql stable
as $$
    select coalesce(
        (select case when p.deletion_status = 'DELETED' and (p.expires_at is null or p.expires_at > reaper.clock())
                     then format('marked DELETED by the application; reaper deletes it once it is expired (%s)', coalesce('at ' || p.expires_at, 'it never expires'))
                     when p.expires_at is null then 'readable: it never expires'
                     when p.expires_at > reaper.clock() then format('readable until %s', p.expires_at)
                     when b.next_attempt > reaper.clock() then format('expired, and PostgreSQL refuses to delete it: %s; tried again at %s, or at once after select reaper.unblock(%L)',
                                                                        b.message, b.next_attempt, b.short_code)
                     when p.deletion_status = 'DELETION_IN_PROGRESS'
                     then coalesce((select format('expired, and held by %s since %s%s', coalesce(h.worker, 'no worker'), h.held_since,
                                         ': ' || reaper.stuck_reason(h.worker, h.held_since, reaper.clock()) || '; the watchdog returns it')
                             from (select c.worker, c.held_since from reaper.batches c
                                    where c.state = 'CLAIMED' and c.short_codes @> array[p_short_code]
                                    order by c.claimed_at desc limit 1) as h),
                                   'expired, and marked although no batch holds it; the watchdog returns it two hours after it was marked, select reaper.reset_strays(''0'') at once')
                     else 'expired: ' || reaper_internal.next_drain() end
           from reaper.pastes p
           left join reaper.blocked b on b.short_code = p.short_code
          where p.short_code = p_short_code),
        (select format('deleted; %s still deletes its objects and cache entry', coalesce(b.worker, 'the next worker'))
           from reaper.batches b
          where b.state = 'RELEASED' and b.short_codes @> array[p_short_code]
          limit 1),
        (select 'deleted; its cache entry is queued for deletion' from reaper.invalidations i where i.short_code = p_short_code),
        (select format('deleted at %s', max(r.released_at)) from reaper.runs r where r.short_codes @> array[p_short_code] having count(*) > 0),
        (select format('not created yet: its put was begun and not committed; the pending reaper checks it at %s', i.next_attempt)
           from reaper.put_intents i
          where i.short_code = p_short_code
          order by i.begun_at desc
          limit 1));
$$;
comment on function reaper_internal.state_of_paste(text) is
    'For why: the present state of a paste, in one sentence.';
revoke all on function reaper_internal.state_of_paste(text) from public;
