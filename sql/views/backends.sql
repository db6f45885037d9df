-- backends: every place where objects lie, what lies there, and whether it answers. The accounts are added up here, so what one
-- reads is right at any instant, however many rows they have at the moment.
create or replace view reaper.backends as
    with added as (
        select b.name,
               coalesce(sum(d.used_bytes), 0) as used,
               coalesce(sum(d.orphan_bytes), 0) as orphan,
               coalesce(sum(d.reserved_bytes), 0) as reserved
          from reaper.backend_list b
          left join reaper.byte_deltas d on d.backend = b.name
         group by b.name
    )
    -- Sizes that an application wrote by itself may add up to more than a bigint holds.
    select b.name,
           b.quota,
           least(a.used, 9223372036854775807)::bigint as bytes_used,
           least(a.orphan, 9223372036854775807)::bigint as orphan_bytes,
           least(a.reserved, 9223372036854775807)::bigint as reserved_bytes,
           case when b.quota is not null
                then greatest(b.quota - a.used - a.orphan - a.reserved, -9223372036854775808)::bigint end as free_bytes,
           b.state,
           coalesce(c.state, 'closed') as circuit,
           c.retry_at,
           c.last_error,
           b.registered_at
      from reaper.backend_list b
      join added a on a.name = b.name
      left join reaper.circuits c on c.backend = b.name
     order by b.name;
comment on view reaper.backends is 'Where objects lie, how many bytes of which kind, and whether the place answers.';
comment on column reaper.backends.name is 'As in reaper.toml; the one that comes from REAPER_S3_BUCKET is called default.';
comment on column reaper.backends.quota is 'How many bytes may lie there, orphans and reservations included; null = as many as come. Changed by set_quota().';
comment on column reaper.backends.bytes_used is 'Bytes of live objects in reaper.object_locations. An application''s own objects, which have no row there, are not counted.';
comment on column reaper.backends.orphan_bytes is 'Bytes whose deletion is owed: released batches, cleanup queue and dead letters.';
comment on column reaper.backends.reserved_bytes is 'Bytes that writers have announced and not yet committed.';
comment on column reaper.backends.free_bytes is 'What the quota leaves; null without one, negative where it was lowered.';
comment on column reaper.backends.state is 'active: new objects go there. readonly: nothing new comes. Changed by set_backend_state().';
comment on column reaper.backends.circuit is 'closed: in use. open: left alone until retry_at, because it did not answer. half_open: being probed.';
comment on column reaper.backends.retry_at is 'When the next probe goes; null while closed.';
comment on column reaper.backends.last_error is 'Its last failure.';
comment on column reaper.backends.registered_at is 'When it was first seen.';
revoke all on reaper.backends from public;
grant select on reaper.backends to reaper_worker, reaper_ops, reaper_ro;
