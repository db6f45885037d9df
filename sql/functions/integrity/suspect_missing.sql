-- suspect_missing: a copy was not found. The first time it becomes a suspect; the second time, at least 15 minutes later or at the end of a
-- pass that was not stopped, it is recorded as missing. report_copy() is fenced by the key: what was deleted or replaced meanwhile stays.
create or replace function reaper.suspect_missing(p_content_hash text, p_backend text, p_object_key text)
    returns text
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
declare
    v_now      timestamptz := reaper.clock();
    v_suspect  reaper.suspects;
begin
    perform reaper_internal.require_read_committed();
    insert into reaper.suspects (backend, object_key, content_hash, first_seen, next_attempt)
    values (p_backend, p_object_key, p_content_hash, v_now, v_now + interval '15 minutes')
        on conflict do nothing;
    if found then
        return 'suspected';
    end if;
    select * into v_suspect from reaper.suspects s where s.backend = p_backend and s.object_key = p_object_key for update;
    if v_suspect.next_attempt > v_now then
        return 'suspected';
    end if;
    delete from reaper.suspects s where s.backend = p_backend and s.object_key = p_object_key;
    return reaper.report_copy(p_content_hash, p_backend, p_object_key, 'missing', 'the object was not found twice');
end;
$$;
comment on function reaper.suspect_missing(text, text, text) is
    'Records that a copy was not found: suspected (look again when the suspect is due), or the result of report_copy(…, ''missing''). RP006 outside read committed.';
revoke all on function reaper.suspect_missing(text, text, text) from public;
grant execute on function reaper.suspect_missing(text, text, text) to reaper_worker, reaper_ops;
