-- Drops the tables of usage if no usage was counted and no limit was set by hand.
-- locks: these tables, reaper.settings and reaper.services ACCESS EXCLUSIVE, for moments
-- guarded: true
do $$
declare
    v_loss text := (select string_agg(format('%s %s', l.rows, l.what), ', ')
                      from (values ((select count(*) from (select from reaper.usage_processes union all select from reaper.usage_monthly) as u), 'rows of usage'),
                                   ((select count(*) from reaper.usage_limits u where u.amount is distinct from u.configured), 'monthly limits'),
                                   ((select count(*) from reaper.settings s where s.near_limit <> 0.8), 'changed settings (near_limit)')) as l (rows, what)
                     where l.rows > 0);
begin
    if v_loss is not null then
        raise exception sqlstate 'RP007' using
            message = format('dropping the usage would lose %s', v_loss),
            hint    = 'Note reaper.usage_monthly, reaper.usage_processes and reaper.usage_limits, delete their rows, then roll back.';
    end if;
end;
$$;
-- reaper migrate drops the functions first; yoyo would take the tables away under them.
do $$
begin
    if exists (select from reaper.code_files) then
        raise exception sqlstate 'RP007' using
            message = 'functions of schema reaper are loaded that need these tables',
            hint    = 'Roll back with: reaper migrate --to ID (or base); it drops the functions first.';
    end if;
end;
$$;
drop table reaper.state_snapshot;
drop table reaper.nearly_full;
drop table reaper.usage_limits;
drop table reaper.usage_flushes;
drop table reaper.usage_monthly;
drop table reaper.usage_processes;
alter table reaper.services drop column if exists last_success_at;
alter table reaper.settings drop column if exists near_limit;
