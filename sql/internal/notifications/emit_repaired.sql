-- emit_repaired: tell that a good copy has replaced one that was missing or corrupt, in the transaction that replaces it. What was not bad is
-- not told: a move replaces good copies.
create or replace function reaper_internal.emit_repaired(
    p_content_hash  text,
    p_backend       text,
    p_object_key    text,
    p_size_bytes    bigint,
    p_replaced      reaper.object_locations
)
    returns void
    language plpgsql volatile
as $$
begin
    if p_replaced.trouble is not null and reaper_internal.is_subscribed('copy.repaired') then
        perform reaper_internal.emit('copy.repaired', p_content_hash, jsonb_build_object(
            'content_hash', p_content_hash, 'backend', p_backend, 'object_key', p_object_key, 'size_bytes', p_size_bytes,
            'replaced_backend', p_replaced.backend, 'replaced_key', p_replaced.object_key, 'trouble', p_replaced.trouble));
    end if;
end;
$$;
comment on function reaper_internal.emit_repaired(text, text, text, bigint, reaper.object_locations) is
    'For replace_copy and replace_bad_copy: emits copy.repaired for a new copy and the one that it replaces, if that was bad.';
revoke all on function reaper_internal.emit_repaired(text, text, text, bigint, reaper.object_locations) from public;
