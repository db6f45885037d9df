-- begin_reconciliation: which passes to continue. While the pass of one of these backends has not ended, only such passes are returned, each
-- where it stands; else a new one is begun for all.
create or replace function reaper.begin_reconciliation(p_backends text[])
    returns table (backend text, pass uuid, phase text, after_key text, untracked text)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
#variable_conflict use_column
begin
    perform reaper_internal.require_known_backend(b.name) from unnest(p_backends) as b (name);
    insert into reaper.reconciliations (backend) select b.name from unnest(p_backends) as b (name) order by b.name on conflict do nothing;
    perform from reaper.reconciliations r where r.backend = any (p_backends) order by r.backend for update;
    if not exists (select from reaper.reconciliations r where r.backend = any (p_backends) and r.phase in ('listing', 'settling')) then
        delete from reaper.suspects s where s.backend = any (p_backends) and s.pass is not null;
        update reaper.reconciliations r
           set pass = gen_random_uuid(), phase = 'listing', after_key = '', began_at = reaper.clock(),
               listed = 0, expected = 0, missing = 0, unknown = 0, recorded = 0, brake_reason = null
         where r.backend = any (p_backends);
    end if;
    return query
        select r.backend, r.pass, r.phase, r.after_key, r.untracked
          from reaper.reconciliations r
         where r.backend = any (p_backends) and r.phase in ('listing', 'settling')
         order by r.backend;
end;
$$;
comment on function reaper.begin_reconciliation(text[]) is
    'The passes of these backends that have not ended, with their position; if all have, begins a new one for each. RP005 for an unknown backend.';
revoke all on function reaper.begin_reconciliation(text[]) from public;
grant execute on function reaper.begin_reconciliation(text[]) to reaper_worker, reaper_ops;
