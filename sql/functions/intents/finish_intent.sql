-- finish_intent: end what a writer left open. Its object is there and whole: the paste is made on the writer's behalf, in the
-- way the writer would have made it. In every other case the intent is dropped and its key deleted: the writer was never told
-- that it had succeeded, so nothing is lost that anybody relies on.
create or replace function reaper.finish_intent(
    p_intent_id  uuid,
    p_lease      uuid,
    p_found      boolean,
    p_size       bigint default null,
    p_hash       text   default null
)
    returns text
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_now     timestamptz := reaper.clock();
    v_intent  reaper.put_intents;
begin
    perform reaper_internal.require_read_committed();
    v_intent := reaper_internal.lock_intent(p_intent_id, p_lease);
    if v_intent.intent_id is null then
        return 'gone';
    end if;
    if p_found
       and reaper_internal.is_whole(v_intent, p_size, p_hash)
       and coalesce(v_intent.expires_at > v_now, true)
       and (select s.pending_action from reaper.settings s) = 'commit' then
        begin
            perform reaper_internal.finish_put(v_intent, true, v_now);
            return 'committed';
        exception when others then
            -- The code is taken, no room was reserved, or a constraint of the application's says no: the writer would not have
            -- succeeded either. What passes, or a right that we lack, is no reason to drop anything.
            if reaper_internal.is_transient(sqlstate) or sqlstate = '42501' then
                raise;
            end if;
        end;
    end if;
    perform reaper_internal.drop_intent(v_intent, true, v_now);
    return 'dropped';
end;
$$;
comment on function reaper.finish_intent(uuid, uuid, boolean, bigint, text) is
    'Settles a leased intent by what was found under its key: committed (object there, p_size and SHA-256 p_hash right, and settings.pending_action says so), '
    'else dropped; gone when its writer was first. RP001 when the lease is lost, RP006 outside read committed.';
revoke all on function reaper.finish_intent(uuid, uuid, boolean, bigint, text) from public;
grant execute on function reaper.finish_intent(uuid, uuid, boolean, bigint, text) to reaper_worker, reaper_ops;
