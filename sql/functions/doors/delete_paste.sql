-- delete_paste: the paste is over now; the next drain collects it like every other, so nobody else has to count references.
-- Its cache entry, which was to live longer, is owed a deletion by the same commit, also if the caller dies before it sees to that.
create or replace function reaper.delete_paste(p_short_code text)
    returns boolean
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_now timestamptz := reaper.clock();
begin
    update public.pastes p
       set expires_at = v_now
     where p.short_code = p_short_code
       and (p.expires_at is null or p.expires_at > v_now);
    if not found then
        return false;
    end if;
    perform reaper_internal.enqueue_invalidation(p_short_code, v_now);
    return true;
end;
$$;
comment on function reaper.delete_paste(text) is
    'Makes a paste unreadable now; the next drain removes it. False when it was unreadable already. Drop your cache entry afterwards; a worker does it too.';
revoke all on function reaper.delete_paste(text) from public;
grant execute on function reaper.delete_paste(text) to reaper_worker, reaper_app, reaper_ops;
