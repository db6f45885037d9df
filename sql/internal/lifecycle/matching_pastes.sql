-- matching_pastes: those of these pastes that match a rule now and are not due yet. Asked twice: when a page is looked at, and again, in a
-- new statement, once the rows are locked.
create or replace function reaper_internal.matching_pastes(p_rule reaper.lifecycle_rules, p_codes text[], p_before timestamptz, p_now timestamptz)
    returns table (short_code text, expires_at timestamptz)
    language sql stable
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
    select p.short_code::text, p.expires_at
      from reaper.pastes p
     where p.short_code = any (p_codes)
       and (p.expires_at is null or p.expires_at > p_now)
       and reaper_internal.matches_rule(p_rule, p_before, p.short_code::text, p.created_at::timestamptz,
               case when num_nonnulls((p_rule).min_size, (p_rule).max_size) > 0 then reaper_internal.known_size(p.content_hash::text) end)
     order by p.short_code;
$$;
comment on function reaper_internal.matching_pastes(reaper.lifecycle_rules, text[], timestamptz, timestamptz) is
    'For apply_lifecycle_rule: the pastes among p_codes that are not due and match the rule, and when they expire.';
revoke all on function reaper_internal.matching_pastes(reaper.lifecycle_rules, text[], timestamptz, timestamptz) from public;
