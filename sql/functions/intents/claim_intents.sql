-- claim_intents: lease puts that were begun long ago and neither committed nor aborted. Backends take turns, so that thousands of intents
-- of one do not delay the others; backends whose circuit is not closed are left out, since their objects cannot be checked.
-- A leased intent is due again after five minutes, so the lease of a dead worker needs no watchdog.
create or replace function reaper.claim_intents(p_limit integer default 100)
    returns table (
        lease uuid, intent_id uuid, short_code text, content_hash text, size_bytes bigint, expires_at timestamptz,
        backend text, object_key text, upload_required boolean
    )
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
#variable_conflict use_column
declare
    v_now    timestamptz := reaper.clock();
    v_lease  uuid        := gen_random_uuid();
begin
    perform reaper_internal.require_limit(p_limit);
    return query
        with due as materialized (
            select d.intent_id, d.next_attempt, b.name
              from reaper.backend_list b
             cross join reaper.settings s
             cross join lateral (
                select i.intent_id, i.next_attempt
                  from reaper.put_intents i
                 where i.backend = b.name
                   and i.next_attempt <= v_now
                   -- The setting may have been raised since the put began.
                   and i.begun_at <= v_now - s.intent_min_age
                 order by i.next_attempt
                 limit p_limit
                   for update skip locked
             ) as d
             where not exists (select from reaper.circuits c where c.backend = b.name and c.state <> 'closed')
        ), turns as (
            select d.intent_id
              from (select t.intent_id, t.next_attempt, row_number() over (partition by t.name order by t.next_attempt) as turn
                      from due t) as d
             order by d.turn, d.next_attempt
             limit p_limit
        )
        update reaper.put_intents i
           set lease = v_lease, next_attempt = v_now + interval '5 minutes'
         where i.intent_id = any (array(select t.intent_id from turns t))
        returning i.lease, i.intent_id, i.short_code, i.content_hash, i.size_bytes, i.expires_at,
                  i.backend, i.object_key, i.upload_required;
end;
$$;
comment on function reaper.claim_intents(integer) is
    'Leases up to p_limit puts that are older than settings.intent_min_age and not settled, a fair share of each backend whose circuit is closed; all share one lease. '
    'Check the object of each, then call finish_intent, or return_intent if the backend did not answer.';
revoke all on function reaper.claim_intents(integer) from public;
grant execute on function reaper.claim_intents(integer) to reaper_worker, reaper_ops;
