-- register_backend: record a backend when a worker starts. Its quota follows the configuration until set_quota() is called; then the
-- value of set_quota() stays.
create or replace function reaper.register_backend(p_name text, p_quota bigint default null)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    perform reaper_internal.require_quota(p_quota);
    if p_name is null or p_name !~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$' then
        raise exception sqlstate 'RP005' using
            message = format('invalid backend name: %s', coalesce(quote_literal(p_name), 'null')),
            hint    = 'Give up to 63 letters, digits, dots, dashes and underscores; the first must be a letter or a digit.';
    end if;
    -- An unchanged row is not written again: writers lock it when they reserve bytes.
    perform from reaper.backend_list b where b.name = p_name and b.configured_quota is not distinct from p_quota;
    if found then
        return;
    end if;
    insert into reaper.backend_list as b (name, quota, configured_quota, registered_at)
    values (p_name, p_quota, p_quota, reaper.clock())
        on conflict (name) do update
       set quota            = case when b.quota is not distinct from b.configured_quota then excluded.quota else b.quota end,
           configured_quota = excluded.configured_quota;
end;
$$;
comment on function reaper.register_backend(text, bigint) is
    'Registers a backend, or updates its quota from the configuration unless set_quota() was called. May be called repeatedly. RP005 for an invalid name or quota.';
revoke all on function reaper.register_backend(text, bigint) from public;
grant execute on function reaper.register_backend(text, bigint) to reaper_worker, reaper_ops;
