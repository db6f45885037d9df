-- require_webhook: lock a webhook's row, or refuse a name that no webhook has. The lock is the one that claims take, so what is changed here
-- is seen by the next claim.
create or replace function reaper_internal.require_webhook(p_name text)
    returns reaper.webhooks
    language plpgsql volatile
as $$
declare
    v_webhook reaper.webhooks;
begin
    select * into v_webhook from reaper.webhooks w where w.name = p_name for no key update;
    if not found then
        raise exception sqlstate 'RP005' using
            message = format('unknown webhook %s', coalesce(quote_literal(p_name), 'null')),
            hint    = coalesce(format('Known webhooks: %s.', (select string_agg(w.name, ', ' order by w.name) from reaper.webhooks w)),
                               'Add it first: select reaper.add_webhook(…).');
    end if;
    return v_webhook;
end;
$$;
comment on function reaper_internal.require_webhook(text) is
    'Locks and returns the webhook of that name; RP005 if there is none.';
revoke all on function reaper_internal.require_webhook(text) from public;
