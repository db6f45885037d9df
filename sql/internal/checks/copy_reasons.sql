-- copy_reasons: copies that cannot be made, a factor that cannot be reached, backends that are drained; contents without a good copy are told by
-- integrity_reasons. Read are small tables, the byte accounts and 10,000 wants, those first that wait longest: they failed. How many copies are left
-- is the business of backend_remains().
create or replace function reaper_internal.copy_reasons()
    returns setof text
    language sql stable
as $$
    select format('%s%s contents want a copy that could not be made, for example %s: %s. They are tried again within an hour; see reaper.backends for room and circuits, and reaper copies HASH',
                  case when max(w.looked_at) = 10000 then 'at least ' end, count(*),
                  (array_agg(w.content_hash order by w.good, w.queued_at))[1], (array_agg(w.last_error order by w.good, w.queued_at))[1])
      from (select l.*, count(*) over () as looked_at
              from (select * from reaper.copy_wants n where n.good > 0 order by n.good desc, n.next_attempt desc limit 10000) as l) as w
     where w.attempts > 0
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
    'For attention_reasons: copies that could not be made, a replication factor above the number of backends, backends that are drained.';
revoke all on function reaper_internal.copy_reasons() from public;
