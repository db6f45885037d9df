-- integrity_gauges: how well each backend is known: by the last count of the scrubber, the last pass of the reconciler and the last look of
-- multipart_cleanup. Untracked objects are counted up to 100,000.
create or replace function reaper_internal.integrity_gauges()
    returns setof jsonb
    language sql stable
as $$
    select reaper_internal.gauge(k.gauge, k.number, jsonb_build_object('backend', b.name))
      from reaper.backend_list b
      left join reaper.reconciliations r on r.backend = b.name
     cross join lateral (
        values ('verified_share', coalesce(round(r.verified / nullif(r.copies, 0)::numeric, 4), 0)),
               ('oldest_verified_timestamp_seconds', coalesce(extract(epoch from nullif(r.oldest, '-infinity')), 0)),
               ('untracked_objects', (select count(*) from (select from reaper.sightings s where s.backend = b.name limit 100000) as l))
        ) as k (gauge, number)
    union all
    select reaper_internal.gauge('oldest_multipart_upload_timestamp_seconds',
                                 (select coalesce(extract(epoch from min(r.oldest_upload)), 0) from reaper.reconciliations r where r.uploads > 0));
$$;
comment on function reaper_internal.integrity_gauges() is
    'For refresh_state: share of verified copies and oldest verification, untracked objects, the oldest open upload in parts.';
revoke all on function reaper_internal.integrity_gauges() from public;
