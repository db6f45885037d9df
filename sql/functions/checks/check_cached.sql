-- check_cached: may these codes have a cache entry?
-- An entry of an expired paste is expected until the next drain; an entry that no drain or queue will delete is an error.
create or replace function reaper.check_cached(p_codes text[])
    returns table (short_code text, judgement text)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select k.short_code,
           case when p.short_code is not null and (p.expires_at is null or p.expires_at > reaper.clock()) then 'live'
                when p.expires_at > reaper.clock() - interval '26 hours' then 'waiting'
                when p.short_code is not null then 'overdue'
                when i.short_code is not null or o.short_code is not null then 'queued'
                else 'unknown' end
      from unnest(p_codes) as k (short_code)
      left join reaper.pastes p on p.short_code = k.short_code
      left join reaper.invalidations i on i.short_code = k.short_code
      left join (select distinct c.short_code
                   from reaper.batches b
                  cross join unnest(b.short_codes) as c (short_code)
                  where b.state = 'RELEASED' and b.short_codes && p_codes) as o on o.short_code = k.short_code;
$$;
comment on function reaper.check_cached(text[]) is
    'For each code that has a cache entry: live (the paste can be read), waiting (it expired and the next drain deletes it), overdue (it expired over 26 hours ago), '
    'queued (the paste is deleted and its cache entry is queued for deletion), unknown (no such paste, and the cache entry is not queued for deletion).';
revoke all on function reaper.check_cached(text[]) from public;
grant execute on function reaper.check_cached(text[]) to reaper_worker, reaper_ops, reaper_ro;
