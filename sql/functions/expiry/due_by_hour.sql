-- due_by_hour: due pastes by the hour in which they expired; what the view backlog shows. A function, because a view would keep the
-- application from altering the columns of its table.
create or replace function reaper.due_by_hour()
    returns table (expired_in timestamptz, waiting bigint, in_progress bigint)
    language plpgsql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
#variable_conflict use_column
begin
    return query
        select date_trunc('hour', p.expires_at),
               count(*) filter (where p.deletion_status is distinct from 'DELETION_IN_PROGRESS'),
               count(*) filter (where p.deletion_status = 'DELETION_IN_PROGRESS')
          from reaper.pastes p
         where p.expires_at <= reaper.clock()
         group by 1;
end;
$$;
comment on function reaper.due_by_hour() is
    'Pastes that are due and not deleted yet, by the hour in which they expired; read it through the view reaper.backlog.';
revoke all on function reaper.due_by_hour() from public;
grant execute on function reaper.due_by_hour() to reaper_worker, reaper_ops, reaper_ro;
