-- history_of_content: all records of one hash: its row and copies, puts, wrong counts, batches and runs, queued deletions.
create or replace function reaper_internal.history_of_content(p_content_hash text)
    returns table (at timestamptz, event text, detail text)
    language sql stable
as $$
    select c.created_at, 'created', reaper_internal.number_of(c.size_bytes, 'byte')
      from reaper.content c
     where c.content_hash = p_content_hash
    union all
    select l.created_at, 'copy', format('on %s under %s, %s%s', w.backend, w.object_key, reaper_internal.number_of(w.size_bytes, 'byte'),
                                        '; circuit of the backend not closed: ' || s.last_error)
      from reaper.copies_of(p_content_hash) as w
      left join reaper.object_locations l on l.content_hash = p_content_hash and l.backend = w.backend
      left join reaper.circuits s on s.backend = w.backend and s.state <> 'closed'
    union all
    select i.begun_at, 'put begun', format('paste %s, %s to %s', i.short_code, reaper_internal.number_of(i.size_bytes, 'byte'), i.backend)
      from reaper.put_intents i
     where i.content_hash = p_content_hash
    union all
    select d.noticed_at, 'wrong count', format('references by ref_count %s, by paste rows %s: %s', d.expected, d.found, d.action)
      from reaper.drift d
     where d.content_hash = p_content_hash
    union all
    select b.released_at, 'released', format('row deleted; batch %s of %s deletes %s on %s',
                                             b.batch_id, coalesce(b.worker, 'no worker'), o.object_key, o.backend)
      from reaper.batches b
     cross join unnest(b.object_hashes, b.object_backends, b.object_keys) as o (content_hash, backend, object_key)
     where b.object_hashes @> array[p_content_hash] and o.content_hash = p_content_hash
    union all
    select r.released_at, 'released', format('batch %s of %s', r.batch_id, coalesce(r.worker, 'no worker'))
      from reaper.runs r
     where r.content_hashes @> array[p_content_hash]
    union all
    select r.finished_at, 'finished', format('the batch deleted %s, %s failed', reaper_internal.number_of(r.objects_deleted, 'object'), r.objects_failed)
      from reaper.runs r
     where r.content_hashes @> array[p_content_hash]
    union all
    select q.queued_at, 'deletion queued', format('%s on %s: %s, %s and %s, next attempt at %s', q.object_key, q.backend,
                                                coalesce(q.last_error, 'not tried yet'),
                                                reaper_internal.number_of(q.attempts, 'attempt'), reaper_internal.number_of(q.outages, 'outage'), q.next_attempt)
      from reaper.cleanup_queue q
     where q.content_hash = p_content_hash
    union all
    select d.buried_at, 'moved to DLQ', format('%s on %s after %s: %s', d.object_key, d.backend, reaper_internal.number_of(d.attempts, 'attempt'), d.last_error)
      from reaper.cleanup_dlq d
     where d.content_hash = p_content_hash;
$$;
comment on function reaper_internal.history_of_content(text) is
    'For why: what is recorded about a content and its objects.';
revoke all on function reaper_internal.history_of_content(text) from public;
