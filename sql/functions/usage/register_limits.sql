-- register_limits: record the monthly limits of the configuration when a process starts. A limit follows the configuration until set_limit() is
-- called; then the value of set_limit() stays.
create or replace function reaper.register_limits(
    p_name              text,
    p_monthly_requests  bigint default null,
    p_monthly_ingress   bigint default null,
    p_monthly_egress    bigint default null
)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    perform reaper_internal.require_usage_limit(l.amount)
       from unnest(array[p_monthly_requests, p_monthly_ingress, p_monthly_egress]) as l (amount);
    if not exists (select from reaper.backend_list b where b.name = p_name) then
        perform reaper_internal.lock_backend(p_name);
    end if;
    insert into reaper.usage_limits as u (backend, what, amount, configured)
    select p_name, l.what, l.amount, l.amount
      from (values ('monthly_egress', p_monthly_egress), ('monthly_ingress', p_monthly_ingress), ('monthly_requests', p_monthly_requests)) as l (what, amount)
      left join reaper.usage_limits o on (o.backend, o.what) = (p_name, l.what)
     where l.amount is distinct from o.configured
     order by l.what
        on conflict (backend, what) do update
       set amount     = case when u.amount is not distinct from u.configured then excluded.amount else u.amount end,
           configured = excluded.configured;
end;
$$;
comment on function reaper.register_limits(text, bigint, bigint, bigint) is
    'Updates the monthly limits of a backend from the configuration, unless set_limit() was called; null = no limit. May be called repeatedly. RP005 for an unknown backend or a negative limit.';
revoke all on function reaper.register_limits(text, bigint, bigint, bigint) from public;
grant execute on function reaper.register_limits(text, bigint, bigint, bigint) to reaper_worker, reaper_ops;
