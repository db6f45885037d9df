-- suspects_due: copies that were not found once and are to be looked for a second time now.
create or replace function reaper.suspects_due(p_backend text, p_pass uuid, p_limit integer default 1000)
    returns table (content_hash text, object_key text)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select s.content_hash, s.object_key
      from reaper.suspects s
     where s.backend = p_backend and s.pass is not distinct from p_pass and s.next_attempt <= reaper.clock()
     order by s.object_key
     limit p_limit;
$$;
comment on function reaper.suspects_due(text, uuid, integer) is
    'Copies on a backend that were not found once, in this pass of the reconciler (null = by the scrubber), and whose second look is due.';
revoke all on function reaper.suspects_due(text, uuid, integer) from public;
grant execute on function reaper.suspects_due(text, uuid, integer) to reaper_worker, reaper_ops, reaper_ro;
