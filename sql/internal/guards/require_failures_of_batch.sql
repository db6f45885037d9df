-- require_failures_of_batch: failures must be an array of objects and codes of this batch.
create or replace function reaper_internal.require_failures_of_batch(p_batch reaper.batches, p_failed jsonb)
    returns void
    language plpgsql stable
as $$
declare
    v_stranger jsonb;
begin
    perform reaper_internal.require_report(p_failed);

    select f.failure
      into v_stranger
      from jsonb_array_elements(p_failed) as f (failure)
     where not coalesce(f.failure ->> 'short_code' = any (p_batch.short_codes), false)
       and not exists (select from unnest(p_batch.object_backends, p_batch.object_keys) as o (backend, object_key)
                        where o.object_key = f.failure ->> 'object_key'
                          and o.backend = coalesce(f.failure ->> 'backend', 'default'))
     limit 1;
    if found then
        raise exception sqlstate 'RP005' using
            message = format('batch %s does not hold this object or code: %s', p_batch.batch_id, left(v_stranger::text, 300)),
            hint    = 'Report only what drop_references or adopt_batch returned for this batch.';
    end if;
end;
$$;
comment on function reaper_internal.require_failures_of_batch(reaper.batches, jsonb) is
    'For finish_batch: raises RP005 unless p_failed is null or an array of objects and codes of the batch.';
revoke all on function reaper_internal.require_failures_of_batch(reaper.batches, jsonb) from public;
