-- adopt_batch: take over an ownerless released batch.
-- The new uuid fences off the former worker: if it wakes up, it can no longer settle the batch. Repeating its S3 and Redis deletions is
-- harmless, since no live content uses the keys in the batch.
create or replace function reaper.adopt_batch(p_worker text)
    returns table (
        batch_id uuid, short_codes text[],
        content_hashes text[], backends text[], object_keys text[], sizes bigint[]
    )
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
#variable_conflict use_column
declare
    v_now timestamptz := reaper.clock();
begin
    perform reaper_internal.require_key_guard();
    perform reaper_internal.require_confirmed_keys();
    perform reaper_internal.require_worker(p_worker);
    return query
        with oldest as materialized (
            select b.batch_id
              from reaper.batches b
             where b.state = 'RELEASED' and b.worker is null
             order by b.released_at
             limit 1
               for update skip locked
        )
        update reaper.batches b
           set batch_id = gen_random_uuid(), worker = p_worker, held_since = v_now
          from oldest o
         where b.batch_id = o.batch_id
        returning b.batch_id, b.short_codes, b.object_hashes, b.object_backends, b.object_keys, b.object_sizes;
end;
$$;
comment on function reaper.adopt_batch(text) is
    'Gives the oldest ownerless RELEASED batch to p_worker under a new uuid and returns the objects and cache entries to delete; no row if there is none. '
    'Delete them, then call finish_batch. RP010 while objects do not lie under the bound object keys.';
revoke all on function reaper.adopt_batch(text) from public;
grant execute on function reaper.adopt_batch(text) to reaper_worker, reaper_ops;
