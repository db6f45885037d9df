-- drop_stale_copies: end copies whose process died or sleeps: their lease ran out a minute ago. Their keys are deleted twice, later; a process
-- that wakes up finds its intent gone. Contents that want the copy are due at once.
create or replace function reaper.drop_stale_copies(p_limit integer default 100)
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_now      timestamptz := reaper.clock();
    v_due      timestamptz := v_now + (select s.intent_min_age from reaper.settings s);
    v_intent   reaper.copy_intents;
    v_dropped  integer := 0;
begin
    perform reaper_internal.require_limit(p_limit);
    for v_intent in
        select * from reaper.copy_intents i
         where i.lease_until <= v_now - interval '1 minute'
         order by i.lease_until
         limit p_limit
           for update skip locked
    loop
        perform reaper_internal.drop_copy_intent(v_intent, true, v_intent.size_bytes, v_now, v_due);
        update reaper.copy_wants w set next_attempt = v_now where w.content_hash = v_intent.content_hash;
        v_dropped := v_dropped + 1;
    end loop;
    return v_dropped;
end;
$$;
comment on function reaper.drop_stale_copies(integer) is
    'Ends up to p_limit copies whose lease expired more than a minute ago, and queues their keys for deletion; returns how many.';
revoke all on function reaper.drop_stale_copies(integer) from public;
grant execute on function reaper.drop_stale_copies(integer) to reaper_worker, reaper_ops;
