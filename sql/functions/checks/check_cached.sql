-- check_cached: may there be a cache entry for these codes?
-- An entry of a paste that waits for the next drain is no accident; one that nobody is going to remove is.
create or replace function reaper.check_cached(p_codes text[])
    returns table (short_code text, judgement text)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select k.short_code,
           case when p.short_code is not null and (p.expires_at is null or p.expires_at > reaper.clock()) then 'live'
                when p.expires_at > reaper.clock() - interval '26 hours' then 'waiting'
                when p.short_code is not null then 'overdue'
                when i.short_code is not null or o.short_code is not null then 'owed'
                else 'unknown' end
      from unnest(p_codes) as k (short_code)
      left join public.pastes p on p.short_code = k.short_code
      left join reaper.invalidations i on i.short_code = k.short_code
      left join (select distinct c.short_code
                   from reaper.batches b
                  cross join unnest(b.short_codes) as c (short_code)
                  where b.state = 'RELEASED' and b.short_codes && p_codes) as o on o.short_code = k.short_code;
$$;
comment on function reaper.check_cached(text[]) is
    'For each code that has a cache entry: live (the paste can be read), waiting (it expired and the next drain takes it), overdue (it expired over 26 hours ago), '
    'owed (it is gone and the entry is to be dropped), unknown (there is no such paste and nobody drops the entry).';
revoke all on function reaper.check_cached(text[]) from public;
grant execute on function reaper.check_cached(text[]) to reaper_worker, reaper_ops, reaper_ro;
