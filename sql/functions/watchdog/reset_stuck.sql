-- reset_stuck: take back what dead workers hold.
-- Each batch is locked and judged again before it is changed, so a batch that finishes meanwhile stays as it is. A RELEASED batch is never
-- reset, since its references are already subtracted: it becomes ownerless, and the next worker adopts it.
create or replace function reaper.reset_stuck(p_older_than interval default '2 hours')
    returns table (rows_reset integer, batches_reset integer, batches_orphaned integer)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
    v_now       timestamptz := reaper.clock();
    v_batch_id  uuid;
begin
    if p_older_than is null or p_older_than < interval '0' then
        raise exception sqlstate 'RP005' using
            message = 'p_older_than must not be null or negative',
            hint    = 'Give an interval such as ''2 hours''.';
    end if;

    rows_reset := 0;
    batches_reset := 0;
    for v_batch_id in
        select b.batch_id
          from reaper.batches b
         where b.state = 'CLAIMED'
           and (b.worker is null
                or b.claimed_at <= v_now - p_older_than
                or reaper.is_silent(b.worker, v_now))
         order by b.claimed_at
         limit 100
           for update skip locked
    loop
        rows_reset := rows_reset + reaper.return_batch(v_batch_id);
        batches_reset := batches_reset + 1;
    end loop;

    with orphaned as (
        update reaper.batches b
           set worker = null
         where b.state = 'RELEASED'
           and b.worker is not null
           and (reaper.is_silent(b.worker, v_now)
                or (b.held_since <= v_now - p_older_than
                    and not exists (select from reaper.workers w where w.worker = b.worker)))
        returning b.batch_id
    )
    select count(*) into batches_orphaned from orphaned;

    rows_reset := rows_reset + reaper.reset_strays(p_older_than);
    perform reaper_internal.delete_stale_blocks(v_now);
    -- Long after it left reaper.fleet: a worker that was stopped and wakes up may claim before its next heartbeat, and is known to be silent
    -- only by its row.
    delete from reaper.workers w
     where w.beat_at < v_now - interval '1 day'
       and not exists (select from reaper.batches b where b.worker = w.worker);
    return next;
end;
$$;
comment on function reaper.reset_stuck(interval) is
    'Returns rows of claimed batches to NOT_EXPIRED whose worker is silent, gone, or has held them for p_older_than, and marked rows without any batch; '
    'makes released batches of silent workers ownerless. At most 100 batches per call; safe to call at any time and in parallel.';
revoke all on function reaper.reset_stuck(interval) from public;
grant execute on function reaper.reset_stuck(interval) to reaper_worker, reaper_ops;
