-- extend_paste: change the expiry of a paste, also of one that has expired or is claimed, as long as its row exists: the mark is removed in
-- the same UPDATE, and a drop deletes only rows that are marked and due. A shorter life queues the cache entry for deletion.
create or replace function reaper.extend_paste(p_short_code text, p_expires_at timestamptz)
    returns boolean
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_now     timestamptz := reaper.clock();
    v_before  timestamptz;
begin
    perform reaper_internal.require_rights('pastes', '{SELECT,UPDATE}');
    perform reaper_internal.require_expiry(p_expires_at, v_now);
    select coalesce(p.expires_at, 'infinity') into v_before
      from reaper.pastes p
     where p.short_code = p_short_code
       for no key update;
    if not found then
        return false;
    end if;
    update reaper.pastes p
       set expires_at = p_expires_at, deletion_status = 'NOT_EXPIRED', deletion_initiated_at = null
     where p.short_code = p_short_code;
    if p_expires_at < v_before then
        perform reaper_internal.enqueue_invalidation(p_short_code, v_now);
    end if;
    return true;
end;
$$;
comment on function reaper.extend_paste(text, timestamptz) is
    'Sets when a paste expires, null = never; revives a paste that has expired and is not deleted yet. False if its row does not exist. RP005 for a time in the past, RP010 if reaper_owner lacks rights on the table.';
revoke all on function reaper.extend_paste(text, timestamptz) from public;
grant execute on function reaper.extend_paste(text, timestamptz) to reaper_worker, reaper_app, reaper_ops;
