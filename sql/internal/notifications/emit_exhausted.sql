-- emit_exhausted: tell that deletions of objects were given up, in the transaction that moves them to the DLQ.
create or replace function reaper_internal.emit_exhausted(p_backend text, p_cause text, p_objects bigint, p_bytes numeric, p_keys text[])
    returns void
    language sql volatile
as $$
    select reaper_internal.emit('cleanup.exhausted', p_backend, jsonb_build_object(
        'backend', p_backend, 'cause', p_cause, 'objects', p_objects, 'bytes', least(coalesce(p_bytes, 0), 9007199254740991),
        'keys', to_jsonb(p_keys[:100])));
$$;
comment on function reaper_internal.emit_exhausted(text, text, bigint, numeric, text[]) is
    'Emits cleanup.exhausted for objects of one backend and one cause; the first 100 keys are named.';
revoke all on function reaper_internal.emit_exhausted(text, text, bigint, numeric, text[]) from public;
