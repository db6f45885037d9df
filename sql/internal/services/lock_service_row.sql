-- lock_service_row: lock a service's row; the error for an unknown name lists the known ones.
create or replace function reaper_internal.lock_service_row(p_name text)
    returns reaper.services
    language plpgsql volatile
as $$
declare
    v_service reaper.services;
begin
    select * into v_service from reaper.services s where s.name = p_name for update;
    if not found then
        raise exception sqlstate 'RP005' using
            message = format('there is no service %L', p_name),
            hint    = coalesce((select 'Known services: ' || string_agg(s.name, ', ' order by s.name) from reaper.services s),
                               'Run reaper migrate: it registers the services.');
    end if;
    return v_service;
end;
$$;
comment on function reaper_internal.lock_service_row(text) is
    'Locks and returns the row of a service; RP005 if there is none of that name.';
revoke all on function reaper_internal.lock_service_row(text) from public;
