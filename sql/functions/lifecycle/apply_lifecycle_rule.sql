-- apply_lifecycle_rule: look at the next page of old pastes and make those due that match the rule; the drain deletes them like all others.
-- Safe beside every writer: rows are locked without waiting, and the rule is tested again under the lock. The same commit queues their cache
-- entries. A page costs the same however large the table is; the position in the pass is kept in the rule's row.
create or replace function reaper.apply_lifecycle_rule(p_name text, p_limit integer default 1000)
    returns table (looked_at integer, expired integer, skipped integer, refused integer, complete boolean)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set timezone = 'UTC'
    set lock_timeout = '2s'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_sort = off
    set jit = off
as $$
declare
    v_now     timestamptz := reaper.clock();
    v_rule    reaper.lifecycle_rules;
    v_before  timestamptz;
    v_page    record;
    v_looked  record;
    v_done    record;
begin
    perform reaper_internal.require_read_committed();
    perform reaper_internal.require_limit(p_limit);
    perform reaper_internal.require_known_rule(p_name);
    select * into v_rule from reaper.lifecycle_rules r where r.name = p_name and r.enabled for update;
    if not found then
        return query select 0, 0, 0, 0, true;
        return;
    end if;
    perform reaper_internal.require_lifecycle_index(p_name);
    perform reaper_internal.require_binding('{pastes}');
    v_before := v_now - make_interval(days => v_rule.expiration_days);

    select count(*)::integer as pastes, array_agg(o.short_code) as codes,
           (array_agg(o.created_at))[count(*)] as last_created, (array_agg(o.short_code))[count(*)] as last_code
      into v_page
      from (select p.short_code::text, p.created_at::timestamptz
              from reaper.pastes p
             where p.created_at < v_before
               and (p.created_at, p.short_code) > (v_rule.after_created_at, v_rule.after_code)
             order by p.created_at, p.short_code
             limit p_limit) as o;
    select coalesce(array_agg(m.short_code), '{}') as codes, coalesce(array_agg(m.expires_at), '{}') as ends
      into v_looked
      from reaper_internal.matching_pastes(v_rule, v_page.codes, v_before, v_now) as m;
    v_done := reaper_internal.expire_matching(v_rule, v_looked.codes, v_looked.ends, v_before, v_now);
    perform reaper_internal.enqueue_invalidations(v_done.expired, v_now);

    if v_page.pastes < p_limit then
        update reaper.lifecycle_rules r
           set after_created_at = '-infinity', after_code = '', pass_expired = 0, last_pass_at = v_now,
               last_expired = r.pass_expired + cardinality(v_done.expired)
         where r.name = p_name;
        if v_rule.pass_expired + cardinality(v_done.expired) > 0 then
            perform reaper_internal.emit('lifecycle.finished', p_name, jsonb_build_object('rule', p_name, 'rows', v_rule.pass_expired + cardinality(v_done.expired)));
        end if;
    else
        update reaper.lifecycle_rules r
           set after_created_at = v_page.last_created, after_code = v_page.last_code, pass_expired = r.pass_expired + cardinality(v_done.expired)
         where r.name = p_name;
    end if;
    return query select v_page.pastes, cardinality(v_done.expired), v_done.skipped, v_done.refused, v_page.pastes < p_limit;
end;
$$;
comment on function reaper.apply_lifecycle_rule(text, integer) is
    'Looks at the next p_limit pastes that are older than the rule''s expiration_days, in the order of created_at, and makes those due that match it. Returns how many it looked at, made due, '
    'left because other transactions held or changed them, and left because PostgreSQL refused the UPDATE; complete = the pass over all old pastes has ended. Does nothing for a rule that is not enabled. '
    'RP005 without an index led by created_at, RP006 outside read committed, RP010 if the binding does not hold.';
revoke all on function reaper.apply_lifecycle_rule(text, integer) from public;
grant execute on function reaper.apply_lifecycle_rule(text, integer) to reaper_worker, reaper_ops;
