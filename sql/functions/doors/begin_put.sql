-- begin_put: record what is about to be stored, before a byte of it is sent: bytes that are never committed are found by their intent.
-- Bytes are required also where content exists and no copy of it is good: else an acknowledged put would be unreadable.
-- It takes no reference, and its object key is unique, so an abandoned put harms no other paste. Bytes are reserved also if the content
-- exists, for it may be deleted before the commit; on a full store such a put continues without a reservation.
create or replace function reaper.begin_put(
    p_short_code    text,
    p_content_hash  text,
    p_size_bytes    bigint,
    p_expires_at    timestamptz default null
)
    returns table (intent_id uuid, backend text, object_key text, upload_required boolean)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
#variable_conflict use_column
declare
    v_now      timestamptz := reaper.clock();
    v_exists   boolean;
    v_known    boolean;
    v_place    text;
begin
    perform reaper_internal.require_read_committed();
    -- bind() and unbind() take this table first, and wait for this transaction: without it they could deadlock over the two views.
    lock table reaper.bindings in access share mode;
    perform reaper_internal.require_rights('pastes', '{SELECT,INSERT}');
    perform reaper_internal.require_rights('content', '{SELECT,INSERT,UPDATE}');
    perform reaper_internal.require_put(p_short_code, p_content_hash, p_size_bytes);
    perform reaper_internal.require_expiry(p_expires_at, v_now);
    perform reaper_internal.require_free_code(p_short_code);
    -- An upload follows this commit: the intent must be on disk before, or a crash would leave bytes without any record.
    if current_setting('synchronous_commit') in ('off', 'local') then
        perform set_config('synchronous_commit', 'on', true);
    end if;

    v_exists := exists (select from reaper.content c where c.content_hash = p_content_hash);
    v_known := v_exists and not reaper_internal.needs_bytes(p_content_hash, v_now);
    if not v_exists then
        perform reaper_internal.require_key_column();
    end if;
    v_place := reaper_internal.choose_backend(p_size_bytes);
    if v_place is null and not v_known then
        perform reaper_internal.raise_no_room(p_size_bytes);
    end if;
    if v_place is not null then
        perform reaper_internal.add_bytes(v_place, p_reserved => p_size_bytes);
    end if;

    return query
        insert into reaper.put_intents as i (
            intent_id, short_code, content_hash, size_bytes, expires_at, backend, object_key, upload_required, reserved,
            begun_at, next_attempt)
        select gen_random_uuid(), p_short_code, p_content_hash, p_size_bytes, p_expires_at,
               coalesce(v_place, (select b.name from reaper.backend_list b order by b.state = 'active' desc, b.state = 'draining', b.name limit 1)),
               reaper_internal.fresh_key(p_content_hash), not v_known, v_place is not null,
               v_now, v_now + s.intent_min_age
          from reaper.settings s
        returning i.intent_id, i.backend, i.object_key, i.upload_required;
end;
$$;
comment on function reaper.begin_put(text, text, bigint, timestamptz) is
    'Records the intent to store a paste and reserves room for its bytes. Call it in a transaction of its own and commit before you upload. If upload_required, '
    'store the bytes on backend under object_key; then call commit_put. 23505 if the code is taken, RP005 for invalid arguments, RP006 outside read committed, RP008 if no backend has room, RP009 if the binding cannot create content, RP010 if reaper_owner lacks rights on the tables.';
revoke all on function reaper.begin_put(text, text, bigint, timestamptz) from public;
grant execute on function reaper.begin_put(text, text, bigint, timestamptz) to reaper_worker, reaper_app, reaper_ops;
