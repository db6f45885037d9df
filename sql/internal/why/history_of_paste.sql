-- history_of_paste: all records of one code: its row, its put, its batches and runs, refusals, and its cache entry.
create or replace function reaper_internal.history_of_paste(p_short_code text)
    returns table (at timestamptz, event text, detail text)
    language sql stable
as $$
    select p.created_at, 'created', format('content %s', p.content_hash)
      from reaper.pastes p
     where p.short_code = p_short_code
    union all
    select p.expires_at, case when p.expires_at > reaper.clock() then 'expires' else 'expired' end, 'unreadable from then on'
      from reaper.pastes p
     where p.short_code = p_short_code and p.expires_at is not null
    union all
    select i.begun_at, 'put begun',
           format('content %s, %s to %s%s', i.content_hash, reaper_internal.number_of(i.size_bytes, 'byte'), i.backend, ': ' || i.last_error)
      from reaper.put_intents i
     where i.short_code = p_short_code
    union all
    select b.claimed_at, 'claimed', format('batch %s of %s', b.batch_id, coalesce(b.worker, 'no worker'))
      from reaper.batches b
     where b.short_codes @> array[p_short_code]
    union all
    select b.released_at, 'released', 'row and reference deleted'
      from reaper.batches b
     where b.state = 'RELEASED' and b.short_codes @> array[p_short_code]
    union all
    select b.blocked_at, 'refused', format('%s (%s), %s, next attempt at %s', b.message, b.sqlstate, reaper_internal.number_of(b.attempts, 'attempt'), b.next_attempt)
      from reaper.blocked b
     where b.short_code = p_short_code
    union all
    select e.at, e.event, e.detail
      from reaper.runs r
     cross join lateral (values
        (r.claimed_at, 'claimed', format('batch %s of %s', r.batch_id, coalesce(r.worker, 'no worker'))),
        (r.released_at, 'released', 'row and reference deleted'),
        (r.finished_at, 'finished', format('the batch deleted %s, %s failed; %s failed',
                                           reaper_internal.number_of(r.objects_deleted, 'object'), r.objects_failed,
                                           reaper_internal.number_of(r.invalidations_failed, 'cache entry', 'cache entries')))) as e (at, event, detail)
     where r.short_codes @> array[p_short_code]
    union all
    select i.queued_at, 'cache entry queued',
           format('%s, next attempt at %s', coalesce(i.last_error, 'not tried yet'), i.next_attempt)
      from reaper.invalidations i
     where i.short_code = p_short_code;
$$;
comment on function reaper_internal.history_of_paste(text) is
    'For why: what is recorded about a paste.';
revoke all on function reaper_internal.history_of_paste(text) from public;
