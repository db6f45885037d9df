-- backends: every backend, its bytes, its circuit and its owner. The byte accounts are summed here, so the figures are right whether or not
-- fold_accounts() has run.
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
           b.registered_at,
           coalesce(o.state, 'not checked') as owner,
           o.detail as owner_detail,
           o.checked_at as owner_checked_at,
           c.failing_since
      from reaper.backend_list b
      join added a on a.name = b.name
      left join reaper.circuits c on c.backend = b.name
     cross join reaper.installation_identity() as i
      -- What a copy of the database was told in its former place says nothing here.
      left join reaper.backend_owners o
             on o.backend = b.name
            and (o.installation_id, o.database, o.system_identifier) = (i.installation_id, i.database, i.system_identifier)
     order by b.name;
comment on view reaper.backends is 'Backends: bytes used, queued for deletion and reserved, quota, state of the circuit, and whose bucket it is.';
comment on column reaper.backends.name is 'Name of the backend as in reaper.toml; the one configured by REAPER_S3_BUCKET is called default.';
comment on column reaper.backends.quota is 'Maximum number of bytes on the backend, orphans and reservations included; null = no limit. Changed by set_quota().';
comment on column reaper.backends.bytes_used is
    'Bytes of live objects in reaper.object_locations. Objects that the application stored itself have no row there and are not counted.';
comment on column reaper.backends.orphan_bytes is 'Bytes queued for deletion: released batches, cleanup_queue and cleanup_dlq.';
comment on column reaper.backends.reserved_bytes is 'Bytes of puts and copies that were begun and not yet committed.';
comment on column reaper.backends.free_bytes is 'Bytes left under the quota; null without a quota, negative if the quota was lowered below what is stored.';
comment on column reaper.backends.state is 'active: new objects are stored there. readonly: no new objects. draining: likewise, and copies are moved to other backends. Changed by set_backend_state().';
comment on column reaper.backends.circuit is 'closed: in use. open: no requests until retry_at, because requests failed. half_open: one probe request is running.';
comment on column reaper.backends.retry_at is 'Earliest time of the next probe; null while closed.';
comment on column reaper.backends.last_error is 'Text of the last failure.';
comment on column reaper.backends.registered_at is 'When the backend was registered first.';
comment on column reaper.backends.owner is
    'ours: the marker .reaper/owner in the bucket names this installation. other: it does not; nothing is deleted or stored there. not checked: no process has compared yet.';
comment on column reaper.backends.owner_detail is 'Content of the marker, or what is wrong with it.';
comment on column reaper.backends.owner_checked_at is 'When a process compared last; each does so before its first deletion or put there, and hourly.';
comment on column reaper.backends.failing_since is 'Since when the circuit has not been closed; its copies do not count from settings.unhealthy_after on. null while closed.';
revoke all on reaper.backends from public;
grant select on reaper.backends to reaper_worker, reaper_ops, reaper_ro;
