-- copy_reasons: contents without a good copy, copies that cannot be made, a factor that cannot be reached, backends that are drained. Only small tables
-- and the byte accounts are read: how many copies are left is the business of backend_remains().
create or replace function reaper_internal.copy_reasons()
    returns setof text
    language sql stable
as $$
    select format('%s contents have no good copy left, for example %s. Nothing is deleted: bring back their backend or object, or store the content again; see reaper copies HASH',
                  count(*), (array_agg(format('%s (%s)', w.content_hash, coalesce(w.last_error, w.reason)) order by w.queued_at, w.content_hash))[1])
      from reaper.copy_wants w
     where w.good = 0
    having count(*) > 0
    union all
    select format('%s contents want a copy that could not be made, for example %s: %s. They are tried again within an hour; see reaper.backends for room and circuits, and reaper copies HASH',
                  count(*), (array_agg(w.content_hash order by w.good, w.queued_at))[1], (array_agg(w.last_error order by w.good, w.queued_at))[1])
      from reaper.copy_wants w
     where w.good > 0 and w.attempts > 0
    having count(*) > 0
    union all
    select format('settings.replication_factor is %s, but only %s backends are active: register another, make one active, or lower the factor', s.replication_factor, n.active)
      from reaper.settings s
     cross join (select count(*) as active from reaper.backend_list b where b.state = 'active') as n
     where s.replication_factor > n.active and s.replication_factor > 1
    union all
    select format('backend %s is being drained, %s are left there and %s are queued for deletion. See reaper.backend_remains(%L); when nothing remains: reaper backend remove %s',
                  b.name, pg_size_pretty(a.used), pg_size_pretty(a.orphan), b.name, b.name)
      from reaper.backend_list b
     cross join lateral (
        select coalesce(sum(d.used_bytes), 0) as used, coalesce(sum(d.orphan_bytes), 0) as orphan
          from reaper.byte_deltas d where d.backend = b.name) as a
     where b.state = 'draining';
$$;
comment on function reaper_internal.copy_reasons() is
    'For attention_reasons: contents without a good copy, copies that could not be made, a replication factor above the number of backends, backends that are drained.';
revoke all on function reaper_internal.copy_reasons() from public;
