-- emit_released: tell which pastes a batch released: up to 500 codes per event, so that no event becomes large.
create or replace function reaper_internal.emit_released(p_batch reaper.batches)
    returns void
    language plpgsql volatile
as $$
declare
    v_parts   integer := ceil(cardinality(p_batch.short_codes) / 500.0);
    v_counts  jsonb   := jsonb_build_object(
        'batch_id', p_batch.batch_id,
        'worker', p_batch.worker,
        'rows_deleted', cardinality(p_batch.short_codes),
        'rows_blocked', p_batch.rows_blocked,
        'objects', cardinality(p_batch.object_keys),
        'bytes', (select least(coalesce(sum(o.bytes), 0), 9007199254740991)::bigint from unnest(p_batch.object_sizes) as o (bytes)),
        'parts', v_parts);
begin
    for v_part in 1 .. v_parts loop
        perform reaper_internal.emit('batch.released', p_batch.batch_id::text, v_counts || jsonb_build_object(
            'part', v_part, 'codes', to_jsonb(p_batch.short_codes[v_part * 500 - 499 : v_part * 500])));
    end loop;
end;
$$;
comment on function reaper_internal.emit_released(reaper.batches) is
    'For release_claimed and reap: emits batch.released, with up to 500 codes per event.';
revoke all on function reaper_internal.emit_released(reaper.batches) from public;
