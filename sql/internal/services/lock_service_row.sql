-- lock_service_row: lock a service's row, or say which services there are.
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
            hint    = coalesce((select 'There are: ' || string_agg(s.name, ', ' order by s.name) from reaper.services s),
                               'Services are registered when the first worker starts: reaper worker');
    end if;
    return v_service;
end;
$$;
comment on function reaper_internal.lock_service_row(text) is
    'The locked row of a service; RP005 when there is none of that name.';
revoke all on function reaper_internal.lock_service_row(text) from public;
