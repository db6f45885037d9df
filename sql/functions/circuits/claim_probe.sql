-- claim_probe: get the right to send the one probe to a backend whose pause is over. The conditional update is judged again under the
-- row's lock, so of any number of callers one gets the token, and the backend gets one request.
create or replace function reaper.claim_probe(p_backend text)
    returns uuid
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
declare
    v_now    timestamptz := reaper.clock();
    v_probe  uuid;
begin
    update reaper.circuits c
       set state = 'half_open', probe = gen_random_uuid(), probe_started_at = v_now, changed_at = v_now
     where c.backend = p_backend and c.state = 'open' and c.retry_at <= v_now
    returning c.probe into v_probe;
    return v_probe;
end;
$$;
comment on function reaper.claim_probe(text) is
    'Returns a token to the one caller that may probe a backend whose circuit is open and whose pause is over; null to all others. '
    'Send one request, then call finish_probe.';
revoke all on function reaper.claim_probe(text) from public;
grant execute on function reaper.claim_probe(text) to reaper_worker, reaper_ops;
