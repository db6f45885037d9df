-- queue_schema: where procrastinate's tables are; reaper migrate wrote it down, and loaded the functions for it.
create or replace function reaper.queue_schema()
    returns text
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select coalesce((select s.queue_schema from reaper.settings s), 'procrastinate');
$$;
comment on function reaper.queue_schema() is
    'The schema of procrastinate''s tables, as given to reaper migrate by REAPER_QUEUE_SCHEMA.';
revoke all on function reaper.queue_schema() from public;
grant execute on function reaper.queue_schema() to reaper_worker, reaper_app, reaper_ops, reaper_ro;
