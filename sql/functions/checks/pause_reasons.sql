-- pause_reasons: what a person stopped: paused services, and a drain that is switched off, as it is on adopted tables until it is enabled.
-- What waits for the drain is counted, since it is neither behind nor overdue while it is paused.
create or replace function reaper.pause_reasons(p_now timestamptz, p_due_rows bigint, p_oldest_due timestamptz)
    returns text[]
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    with backlog as (
        select case when p_due_rows > 0
                    then format('%s, the oldest expired %s ago', reaper_internal.counted(p_due_rows, 'row waits', 'rows wait'),
                                reaper_internal.in_words(p_now - greatest(p_oldest_due, p_now - interval '100 years')))
                    else 'nothing is due' end as words
    )
    select array(
        select r.reason
          from reaper.services s
         cross join backlog b
         cross join lateral (values
                   (1, s.name = 'drain' and not s.enabled,
                    format('the drain is switched off: %s. To switch it on: reaper service enable drain', b.words)),
                   (2, s.paused_until > p_now and (s.enabled or s.name = 'drain'),
                    format('%s is paused until %s by %s: %s%s. To end the pause: reaper service resume %s',
                           s.name, reaper_internal.moment(s.paused_until), coalesce(s.paused_by, 'an unknown login'), s.pause_reason,
                           case when s.name = 'drain' then format(' (%s)', b.words) else '' end, s.name)))
               as r (place, holds, reason)
         where r.holds
         order by s.name <> 'drain', s.name, r.place);
$$;
comment on function reaper.pause_reasons(timestamptz, bigint, timestamptz) is
    'Who paused which service, why, until when, and what waits meanwhile, in sentences, for the view reaper.health; also a drain that is switched off.';
revoke all on function reaper.pause_reasons(timestamptz, bigint, timestamptz) from public;
grant execute on function reaper.pause_reasons(timestamptz, bigint, timestamptz) to reaper_worker, reaper_ops, reaper_ro;
