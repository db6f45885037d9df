-- failed_objects: the object failures of a report, one row per object, the worst verdict if one is named twice.
-- An outage of the backend is never a permanent failure of the object.
create or replace function reaper_internal.failed_objects(p_failed jsonb)
    returns table (backend text, object_key text, error text, permanent boolean, outage boolean)
    language sql immutable
as $$
    select distinct on (1, 2)
           coalesce(f.failure ->> 'backend', 'default'),
           f.failure ->> 'object_key',
           left(coalesce(f.failure ->> 'error', 'no error text'), 1000),
           s.permanent and not s.outage as permanent,
           s.outage
      from jsonb_array_elements(p_failed) as f (failure)
     cross join lateral (select coalesce((f.failure ->> 'permanent')::boolean, false) as permanent,
                                coalesce((f.failure ->> 'outage')::boolean, false) as outage) as s
     where f.failure ? 'object_key'
     order by 1, 2, permanent desc, outage;
$$;
comment on function reaper_internal.failed_objects(jsonb) is
    'For finish_batch and finish_cleanup: the failures of a report that concern objects.';
revoke all on function reaper_internal.failed_objects(jsonb) from public;
