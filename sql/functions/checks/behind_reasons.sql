-- behind_reasons: is the drain behind its own schedule? Rows that were due at a scheduled start should be gone two hours after it, whether
-- it runs nightly, hourly or all the time. Where no worker has planned a start yet, the limit is 26 hours after the expiry.
create or replace function reaper.behind_reasons(p_now timestamptz, p_oldest_waiting timestamptz)
    returns text[]
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select array(
        select format('the drain is behind: rows that were due at its start of %s are still there; the oldest expired %s ago. '
                      'Do its runs fail (reaper service list)? Else start more workers, or run: update reaper.settings set drain_slots = %s; reaper plan says how long it takes',
                      reaper_internal.moment(d.late_before), reaper_internal.in_words(p_now - greatest(p_oldest_waiting, p_now - interval '100 years')),
                      (select least(s.drain_slots * 2, 64) from reaper.settings s))
          from reaper_internal.drain_limits(p_now) as d
         where p_oldest_waiting <= d.late_before
           and exists (select from reaper.services s where s.name = 'drain' and (s.next_run_at is not null or s.recent_starts <> '{}'))
        union all
        select format('the drain is behind: it was never planned, and the oldest row that waits expired %s ago; the limit is 26 h. '
                      'Start a worker (reaper worker), or run reaper drain',
                      reaper_internal.in_words(p_now - greatest(p_oldest_waiting, p_now - interval '100 years')))
          from reaper_internal.drain_limits(p_now) as d
         where p_oldest_waiting <= d.late_before
           and not exists (select from reaper.services s where s.name = 'drain' and (s.next_run_at is not null or s.recent_starts <> '{}')));
$$;
comment on function reaper.behind_reasons(timestamptz, timestamptz) is
    'Whether rows are late by the drain''s own schedule, in a sentence, for the view reaper.health; p_oldest_waiting is that of due_summary().';
revoke all on function reaper.behind_reasons(timestamptz, timestamptz) from public;
grant execute on function reaper.behind_reasons(timestamptz, timestamptz) to reaper_worker, reaper_ops, reaper_ro;
