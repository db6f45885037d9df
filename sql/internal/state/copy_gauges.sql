-- copy_gauges: copies that are bad, contents that want copies, and uploads in parts that were open at the last look of multipart_cleanup. Bad copies
-- are counted through their partial index, and like the wants up to 100,000.
create or replace function reaper_internal.copy_gauges()
    returns setof jsonb
    language sql stable
as $$
    select reaper_internal.gauge('copy_wants', (select count(*) from (select from reaper.copy_wants limit 100000) as l))
    union all
    select reaper_internal.gauge('multipart_uploads', (select coalesce(sum(r.uploads), 0) from reaper.reconciliations r))
    union all
    select reaper_internal.gauge('copies', c.number, jsonb_build_object('trouble', t.trouble))
      from unnest('{missing,corrupt}'::text[]) as t (trouble)
     cross join lateral (
        select count(*) as number
          from (select from reaper.object_locations o where o.trouble = t.trouble limit 100000) as l) as c;
$$;
comment on function reaper_internal.copy_gauges() is
    'For refresh_state: bad copies by trouble, contents that want copies, open uploads in parts.';
revoke all on function reaper_internal.copy_gauges() from public;
