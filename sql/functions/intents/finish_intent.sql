-- finish_intent: settle an intent that its writer left open. If its object exists and is complete, the paste is created as the writer
-- would have done. In every other case the intent is dropped and its key queued for deletion: the writer was never told that it had
-- succeeded, so no promise is broken.
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
            -- The code is taken, no room was reserved, or a constraint of the application refuses: the writer would not have
            -- succeeded either. A transient error or a missing right is no reason to drop the intent.
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
    'Settles a leased intent by what was found under its key: committed (object found, p_size and SHA-256 p_hash as announced, and settings.pending_action is commit), '
    'else dropped; gone if its writer settled it first. RP001 if the lease is no longer held, RP006 outside read committed.';
revoke all on function reaper.finish_intent(uuid, uuid, boolean, bigint, text) from public;
grant execute on function reaper.finish_intent(uuid, uuid, boolean, bigint, text) to reaper_worker, reaper_ops;
