-- enqueue_failed_codes: queue cache entries whose deletion was not confirmed.
create or replace function reaper_internal.enqueue_failed_codes(p_batch reaper.batches, p_failed jsonb, p_now timestamptz)
    returns integer
    language plpgsql volatile
as $$
declare
    v_queued integer;
begin
    insert into reaper.invalidations as i (short_code, attempts, last_error, queued_at, next_attempt)
    select c.short_code,
           case when p_failed is null then 0 else 1 end,
           f.error,
           p_now,
           case when p_failed is null then p_now else p_now + interval '1 minute' end
      from unnest(p_batch.short_codes) as c (short_code)
      left join (select distinct on (1) r.failure ->> 'short_code' as short_code, left(r.failure ->> 'error', 1000) as error
                   from jsonb_array_elements(p_failed) as r (failure)
                  where r.failure ? 'short_code') as f on f.short_code = c.short_code
     where p_failed is null or f.short_code is not null
        -- A worker that leased the code before may have deleted an earlier entry: remove the lease.
        on conflict (short_code) do update
       set last_error = excluded.last_error, lease = null;
    get diagnostics v_queued = row_count;
    return v_queued;
end;
$$;
comment on function reaper_internal.enqueue_failed_codes(reaper.batches, jsonb, timestamptz) is
    'For finish_batch: puts codes whose cache entry was not deleted into reaper.invalidations; returns how many.';
revoke all on function reaper_internal.enqueue_failed_codes(reaper.batches, jsonb, timestamptz) from public;
