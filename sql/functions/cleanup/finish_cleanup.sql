-- finish_cleanup: settle a lease. What is gone is forgotten and its retired name freed; a refusal waits longer each time, and
-- the tenth, or one that trying again cannot help, goes to the dead letters with its cause, in the same statement.
create or replace function reaper.finish_cleanup(p_lease uuid, p_failed jsonb)
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_now   timestamptz := reaper.clock();
    v_gone  integer;
begin
    perform reaper.require_report(p_failed);
    perform reaper.require_lease(
        array(select q.backend || '/' || q.object_key from reaper.cleanup_queue q where q.lease = p_lease for update),
        array(select f.backend || '/' || f.object_key from reaper.failed_objects(p_failed) as f), p_lease);
    if p_failed is null then
        update reaper.cleanup_queue q set lease = null, next_attempt = v_now where q.lease = p_lease;
        return 0;
    end if;

    with gone as (
        delete from reaper.cleanup_queue q
         where q.lease = p_lease
           and not exists (select from reaper.failed_objects(p_failed) as f
                            where f.backend = q.backend and f.object_key = q.object_key)
        returning q.object_key
    ), freed as (
        delete from reaper.retired_keys k using gone g where k.object_key = g.object_key
    )
    select count(*) into v_gone from gone g;

    with buried as (
        delete from reaper.cleanup_queue q
         using reaper.failed_objects(p_failed) as f
         where q.lease = p_lease
           and f.backend = q.backend and f.object_key = q.object_key
           and (f.permanent or q.attempts >= 9)
        returning q.queue_id, q.backend, q.object_key, q.content_hash, q.size_bytes, q.attempts + 1, f.error, q.queued_at, v_now
    )
    insert into reaper.cleanup_dlq (queue_id, backend, object_key, content_hash, size_bytes, attempts, last_error, queued_at, buried_at)
    select * from buried
        on conflict (backend, object_key) do update
       set attempts = excluded.attempts, last_error = excluded.last_error;

    update reaper.cleanup_queue q
       set lease        = null,
           attempts     = q.attempts + 1,
           last_error   = f.error,
           next_attempt = v_now + reaper.retry_pause(q.attempts + 1)
      from reaper.failed_objects(p_failed) as f
     where q.lease = p_lease and f.backend = q.backend and f.object_key = q.object_key;
    return v_gone;
end;
$$;
comment on function reaper.finish_cleanup(uuid, jsonb) is
    'Settles the objects of a lease: [] = all are gone, else the failures as finish_batch takes them. null = nothing was tried. RP001 when the lease is lost, RP005 for keys that are not in it. Returns how many are gone.';
revoke all on function reaper.finish_cleanup(uuid, jsonb) from public;
grant execute on function reaper.finish_cleanup(uuid, jsonb) to reaper_worker, reaper_ops;
