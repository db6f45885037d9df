-- register_service: record a service, when the schema is migrated and when a worker starts. Values that a DBA changed stay.
-- On adopted tables the drain starts disabled: rows of an existing application are deleted only after enable_service('drain').
create or replace function reaper.register_service(
    p_name         text,
    p_schedule     text,
    p_description  text,
    p_enabled      boolean default true
)
    returns void
    language sql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    insert into reaper.services as s (name, description, schedule, default_schedule, unplanned_since, enabled)
    values (p_name, p_description, p_schedule, p_schedule, reaper.clock(),
            p_enabled and (p_name <> 'drain' or exists (select from reaper.provenance p where p.kind = 'table')))
        on conflict (name) do update
       set description      = excluded.description,
           default_schedule = excluded.default_schedule,
           schedule         = case when s.schedule = s.default_schedule then excluded.schedule else s.schedule end,
           next_run_at      = case when s.schedule = s.default_schedule and s.schedule <> excluded.schedule then null
                                   else s.next_run_at end,
           unplanned_since  = case when s.schedule = s.default_schedule and s.schedule <> excluded.schedule then excluded.unplanned_since
                                   else s.unplanned_since end
     where (s.description, s.default_schedule) is distinct from (excluded.description, excluded.default_schedule);
$$;
comment on function reaper.register_service(text, text, text, boolean) is
    'Registers a service, or updates its description and default schedule; changed schedules, pauses and enabled flags stay.';
revoke all on function reaper.register_service(text, text, text, boolean) from public;
grant execute on function reaper.register_service(text, text, text, boolean) to reaper_worker, reaper_ops;
