-- idle_since: since when no batch moves; null while one does. A batch that is held for less than ten minutes moves, unless it is stuck.
-- '-infinity' = no batch ever finished.
create or replace function reaper_internal.idle_since(p_now timestamptz)
    returns timestamptz
    language sql stable
as $$
    with finished as (
        select coalesce((select r.finished_at from reaper.runs r order by r.run_id desc limit 1), '-infinity') as last
    )
    select f.last
      from finished f
     where f.last < p_now - interval '10 minutes'
       and not exists (select
                         from reaper.batches b
                        where b.held_since > p_now - interval '10 minutes'
                          and reaper.stuck_reason(b.worker, b.held_since, p_now) is null);
$$;
comment on function reaper_internal.idle_since(timestamptz) is
    'When the last batch finished, if that is over ten minutes ago and no batch was taken since by a worker that lives; else null.';
revoke all on function reaper_internal.idle_since(timestamptz) from public;
