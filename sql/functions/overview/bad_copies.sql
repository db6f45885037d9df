-- bad_copies: how many copies are missing or corrupt on each backend, from the first p_looked_at of each trouble. A bounded look along
-- object_locations_trouble, which has bad copies only.
create or replace function reaper.bad_copies(p_looked_at integer default 10000)
    returns table (backend text, trouble text, copies bigint, oldest timestamptz, complete boolean)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
    select l.backend, t.trouble, count(*), min(l.trouble_at), sum(count(*)) over (partition by t.trouble) <= p_looked_at
      from unnest('{missing,corrupt}'::text[]) as t (trouble)
     cross join lateral (select o.backend, o.trouble_at
                           from reaper.object_locations o
                          where o.trouble = t.trouble
                          limit p_looked_at + 1) as l
     group by l.backend, t.trouble
     order by l.backend, t.trouble;
$$;
comment on function reaper.bad_copies(integer) is
    'Copies that are missing or corrupt by backend, from the first p_looked_at of each trouble; complete: there are no more of that trouble.';
revoke all on function reaper.bad_copies(integer) from public;
grant execute on function reaper.bad_copies(integer) to reaper_worker, reaper_ops, reaper_ro;
