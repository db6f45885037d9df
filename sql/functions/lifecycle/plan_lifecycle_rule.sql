-- plan_lifecycle_rule: what a rule would make due now, and what the next drain would then delete because of it.
-- An object counts as freed if the rule matches one of its pastes and no paste stays that needs it: the others match, or are due already.
create or replace function reaper.plan_lifecycle_rule(p_name text)
    returns table (
        cutoff timestamptz, rows_matching bigint, rows_without_time bigint, objects_freed bigint, bytes_freed bigint,
        objects_kept bigint, objects_unsized bigint, oldest timestamptz
    )
    language plpgsql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
    set timezone = 'UTC'
    set plan_cache_mode = force_custom_plan
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_hashjoin = off
    set enable_mergejoin = off
    set jit = off
as $$
#variable_conflict use_column
declare
    v_rule   reaper.lifecycle_rules := reaper_internal.require_known_rule(p_name);
    v_now    timestamptz := reaper.clock();
    v_sized  boolean := num_nonnulls(v_rule.min_size, v_rule.max_size) > 0;
    v_freed  text[];
    v_kept   bigint;
begin
    perform reaper_internal.require_lifecycle_index(p_name);
    cutoff := v_now - make_interval(days => v_rule.expiration_days);

    with matching as materialized (
        select p.content_hash::text as content_hash, p.created_at::timestamptz as created_at
          from reaper.pastes p
         where p.created_at < cutoff
           and (p.expires_at is null or p.expires_at > v_now)
           and reaper_internal.matches_rule(v_rule, cutoff, p.short_code::text, p.created_at::timestamptz,
                   case when v_sized then reaper_internal.known_size(p.content_hash::text) end)
    ), contents as (
        select m.content_hash,
               exists (select from reaper.pastes q
                        where q.content_hash = m.content_hash
                          and (q.expires_at is null or q.expires_at > v_now)
                          and reaper_internal.matches_rule(v_rule, cutoff, q.short_code::text, q.created_at::timestamptz,
                                  case when v_sized then reaper_internal.known_size(q.content_hash::text) end) is not true) as is_needed
          from (select distinct t.content_hash from matching t) as m
    )
    select (select count(*) from matching), (select min(m.created_at) from matching m),
           count(*) filter (where c.is_needed), array_agg(c.content_hash) filter (where not c.is_needed)
      into rows_matching, oldest, v_kept, v_freed
      from contents c;
    objects_kept := v_kept;
    select coalesce(sum(o.objects), 0), least(coalesce(sum(o.bytes), 0), 9223372036854775807), coalesce(sum(o.unsized), 0)
      into objects_freed, bytes_freed, objects_unsized
      from reaper_internal.objects_of(v_freed) as o;
    rows_without_time := (select count(*)
                            from reaper.pastes p
                           where p.created_at is null
                             and (v_rule.prefix is null or starts_with(p.short_code::text, v_rule.prefix)));
    return next;
end;
$$;
comment on function reaper.plan_lifecycle_rule(text) is
    'What a lifecycle rule would do now, enabled or not: pastes that become due, objects and bytes that the next drain then deletes because of it, contents that stay because another paste needs them, '
    'objects without a recorded size, and pastes with the rule''s prefix that have no created_at and therefore never match. Reads every old paste; changes nothing.';
revoke all on function reaper.plan_lifecycle_rule(text) from public;
grant execute on function reaper.plan_lifecycle_rule(text) to reaper_ops, reaper_ro;
