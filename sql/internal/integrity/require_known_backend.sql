-- require_known_backend: refuse a name that no backend has; the error says how to list them.
create or replace function reaper_internal.require_known_backend(p_backend text)
    returns void
    language plpgsql stable
as $$
begin
    if not exists (select from reaper.backend_list b where b.name = p_backend) then
        raise exception sqlstate 'RP005' using
            message = format('there is no backend %s', coalesce(p_backend, '(null)')),
            hint    = 'List the backends with: select name from reaper.backends (reaper backend list).';
    end if;
end;
$$;
comment on function reaper_internal.require_known_backend(text) is
    'Raises RP005 if no backend has this name.';
revoke all on function reaper_internal.require_known_backend(text) from public;
