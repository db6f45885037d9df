-- lock_backend: lock a backend's row; the error for an unknown name lists the known ones.
create or replace function reaper_internal.lock_backend(p_name text)
    returns reaper.backend_list
    language plpgsql volatile
as $$
declare
    v_backend reaper.backend_list;
begin
    select * into v_backend from reaper.backend_list b where b.name = p_name for no key update;
    if not found then
        raise exception sqlstate 'RP005' using
            message = format('there is no backend %L', p_name),
            hint    = (select 'Known backends: ' || string_agg(b.name, ', ' order by b.name) from reaper.backend_list b);
    end if;
    return v_backend;
end;
$$;
comment on function reaper_internal.lock_backend(text) is
    'Locks and returns the row of a backend; RP005 if there is none of that name.';
revoke all on function reaper_internal.lock_backend(text) from public;
