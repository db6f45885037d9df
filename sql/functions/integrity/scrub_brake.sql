-- scrub_brake: are so many copies corrupt or missing, with those of this run, that the store is more likely answering wrongly? Then nothing is recorded.
create or replace function reaper.scrub_brake(p_backend text, p_looked bigint, p_bad bigint)
    returns text
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select case when f.bad >= 50 and f.bad > s.corrupt_brake * f.looked
                then format('%s of %s copies are corrupt or missing, more than settings.corrupt_brake = %s allows', f.bad, f.looked, s.corrupt_brake) end
      from reaper.settings s
     cross join (select p_looked + coalesce(sum(r.scrub_looked), 0) as looked, p_bad + coalesce(sum(r.scrub_bad), 0) as bad
                   from reaper.reconciliations r
                  where r.backend = p_backend and r.scrub_began > reaper.clock() - interval '1 day') as f;
$$;
comment on function reaper.scrub_brake(text, bigint, bigint) is
    'Why the scrubber is to stop, given what it has read in this run and within a day; null if it is not.';
revoke all on function reaper.scrub_brake(text, bigint, bigint) from public;
grant execute on function reaper.scrub_brake(text, bigint, bigint) to reaper_worker, reaper_ops, reaper_ro;
