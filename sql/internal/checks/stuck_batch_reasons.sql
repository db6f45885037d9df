-- stuck_batch_reasons: batches that are stuck for ten minutes while others move; where none moves, stalled_reasons says so.
create or replace function reaper_internal.stuck_batch_reasons(p_now timestamptz)
    returns setof text
    language sql stable
as $$
    select format('%s stuck, the oldest for %s. See reaper.stuck; reaper watchdog --once takes them back and finishes them',
                  case when count(*) = 1 then '1 batch is' else reaper_internal.counted(count(*), 'batch', 'batches') || ' are' end,
                  reaper_internal.in_words(p_now - min(b.held_since)))
      from reaper.batches b
     where b.held_since < p_now - interval '10 minutes'
       and reaper.stuck_reason(b.worker, b.held_since, p_now) is not null
       and reaper_internal.idle_since(p_now) is null
    having count(*) > 0;
$$;
comment on function reaper_internal.stuck_batch_reasons(timestamptz) is
    'For attention_reasons: batches that are stuck while others move.';
revoke all on function reaper_internal.stuck_batch_reasons(timestamptz) from public;
