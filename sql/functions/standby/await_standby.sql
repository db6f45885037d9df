-- await_standby: may the objects of this batch or lease be deleted now? Called after the release is committed, before the deletion.
-- The token is looked up again: the server may be another one by now, promoted without the release. With synchronous replication a commit
-- of our own waits for the standby, because a release can become visible although its own wait was cancelled.
create or replace function reaper.await_standby(p_token uuid, p_lsn pg_lsn default null)
    returns pg_lsn
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_lsn pg_lsn := coalesce(p_lsn, pg_current_wal_flush_lsn());
begin
    if not exists (select from reaper.batches b where b.batch_id = p_token and b.state = 'RELEASED')
       and not exists (select from reaper.cleanup_queue q where q.lease = p_token) then
        perform nextval('reaper.refusals');
        raise exception sqlstate 'RP001' using
            message = format('no released batch or lease has the token %s', coalesce(p_token::text, '(null)')),
            hint    = 'Delete none of its objects: it was adopted or settled, or this server was promoted without it.';
    end if;
    if current_setting('synchronous_standby_names') <> '' then
        perform reaper_internal.commit_durably();
        perform pg_logical_emit_message(true, 'reaper', 'released');
    end if;
    if not reaper.standby_has(v_lsn) then
        return v_lsn;
    end if;
    return null;
end;
$$;
comment on function reaper.await_standby(uuid, pg_lsn) is
    'Whether the objects of a released batch, or of a lease of claim_cleanup, may be deleted: null = yes; else a standby of settings.wait_for_standby lacks the WAL '
    'up to the returned position: call again with it as p_lsn. Call it in a transaction of its own. RP001 if no released batch or lease has the token.';
revoke all on function reaper.await_standby(uuid, pg_lsn) from public;
grant execute on function reaper.await_standby(uuid, pg_lsn) to reaper_worker, reaper_ops;
