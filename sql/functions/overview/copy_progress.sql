-- copy_progress: how many copies each content is to have, and how far the sweep that looks for too few or too many has come. One row.
create or replace function reaper.copy_progress()
    returns table (replication_factor integer, started_at timestamptz, finished_at timestamptz, looked_at bigint, wanted bigint, after_hash text)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select s.replication_factor, w.started_at, w.finished_at, w.looked_at, w.wanted, w.after_hash
      from reaper.settings s
     cross join reaper.copy_sweep w;
$$;
comment on function reaper.copy_progress() is
    'The replication factor and the sweep over content: when its pass began and ended (null: it is not complete), contents looked at and wanted, and the last hash.';
revoke all on function reaper.copy_progress() from public;
grant execute on function reaper.copy_progress() to reaper_worker, reaper_ops, reaper_ro;
