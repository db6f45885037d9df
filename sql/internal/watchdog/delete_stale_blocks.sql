-- delete_stale_blocks: remove rows from reaper.blocked whose paste was deleted or extended.
create or replace function reaper_internal.delete_stale_blocks(p_now timestamptz)
    returns void
    language sql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_hashjoin = off
    set enable_mergejoin = off
    set jit = off
as $$
    delete from reaper.blocked b
     where not exists (select from reaper.pastes p where p.short_code = b.short_code and p.expires_at <= p_now);
$$;
comment on function reaper_internal.delete_stale_blocks(timestamptz) is
    'For reset_stuck: removes rows from reaper.blocked whose paste does not exist or is not due any more.';
revoke all on function reaper_internal.delete_stale_blocks(timestamptz) from public;
