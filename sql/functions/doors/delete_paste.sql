-- delete_paste: expire the paste now; the next drain deletes it like every other, so callers need not count references.
-- The same commit queues its cache entry for deletion, so the entry is deleted even if the caller dies.
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
    perform reaper_internal.require_rights('pastes', '{SELECT,UPDATE}');
    update reaper.pastes p
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
    'Makes a paste unreadable now; the next drain deletes it. False if it was unreadable already. Delete your cache entry afterwards; a worker does so too. RP010 if reaper_owner lacks rights on the table.';
revoke all on function reaper.delete_paste(text) from public;
grant execute on function reaper.delete_paste(text) to reaper_worker, reaper_app, reaper_ops;
