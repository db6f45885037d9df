-- register_service: make a service known at the start of a worker. What a DBA changed stays as the DBA left it.
-- On adopted tables the drain begins disabled: nothing of theirs is deleted before somebody says so.
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
    insert into reaper.services as s (name, description, schedule, default_schedule, enabled)
    values (p_name, p_description, p_schedule, p_schedule,
            p_enabled and (p_name <> 'drain' or exists (select from reaper.provenance where object = 'table pastes')))
        on conflict (name) do update
       set description      = excluded.description,
           default_schedule = excluded.default_schedule,
           schedule         = case when s.schedule = s.default_schedule then excluded.schedule else s.schedule end,
           next_run_at      = case when s.schedule = s.default_schedule and s.schedule <> excluded.schedule then null
                                   else s.next_run_at end
     where (s.description, s.default_schedule) is distinct from (excluded.description, excluded.default_schedule);
$$;
comment on function reaper.register_service(text, text, text, boolean) is
    'Enters a service into reaper.services, or brings its description and default schedule up to date; schedules, pauses and switches that somebody changed stay.';
revoke all on function reaper.register_service(text, text, text, boolean) from public;
grant execute on function reaper.register_service(text, text, text, boolean) to reaper_worker, reaper_ops;
