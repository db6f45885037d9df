-- set_limit: limit what a backend is used for in a month. A limit below what was used already is allowed: from the next call on nothing new is
-- stored there in this month.
create or replace function reaper.set_limit(p_name text, p_what text, p_limit bigint, p_reason text)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_before bigint;
begin
    perform reaper_internal.lock_backend(p_name);
    if p_what is null or p_what not in ('monthly_requests', 'monthly_ingress', 'monthly_egress') then
        raise exception sqlstate 'RP005' using
            message = format('invalid kind of limit: %s', coalesce(quote_literal(p_what), 'null')),
            hint    = 'Give monthly_requests, monthly_ingress or monthly_egress; bytes that are stored are limited by set_quota().';
    end if;
    perform reaper_internal.require_usage_limit(p_limit);
    perform reaper_internal.require_reason(p_reason);
    v_before := (select l.amount from reaper.usage_limits l where (l.backend, l.what) = (p_name, p_what));
    insert into reaper.usage_limits as l (backend, what, amount) values (p_name, p_what, p_limit)
        on conflict (backend, what) do update set amount = excluded.amount;
    perform reaper_internal.record_audit('set_limit', p_name, p_reason,
                                format('%s from %s to %s', p_what, coalesce(v_before::text, 'no limit'), coalesce(p_limit::text, 'no limit')));
end;
$$;
comment on function reaper.set_limit(text, text, bigint, text) is
    'Limits the requests, ingress or egress of a backend per month (UTC): p_what is monthly_requests, monthly_ingress or monthly_egress; null removes the limit. A reason is required. Audited; from then on that limit of the configuration is ignored.';
revoke all on function reaper.set_limit(text, text, bigint, text) from public;
grant execute on function reaper.set_limit(text, text, bigint, text) to reaper_ops;
