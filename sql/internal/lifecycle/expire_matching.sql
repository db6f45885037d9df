-- expire_matching: make pastes due that matched a rule when they were looked at. Rows are locked without waiting, and what was overwritten,
-- extended or deleted since the look stays as it is: a new statement after the locks tests the rule again.
-- If PostgreSQL refuses a row, because a trigger of the application does, halve until it is alone; it stays as it is.
create or replace function reaper_internal.expire_matching(
    in  p_rule    reaper.lifecycle_rules,
    in  p_codes   text[],
    in  p_ends    timestamptz[],
    in  p_before  timestamptz,
    in  p_now     timestamptz,
    out expired   text[],
    out skipped   integer,
    out refused   integer
)
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_half    integer := cardinality(p_codes) / 2;
    v_locked  text[];
    v_left    record;
    v_right   record;
begin
    refused := 0;
    begin
        v_locked := array(select p.short_code from reaper.pastes p where p.short_code = any (p_codes) for no key update skip locked);
        v_locked := array(select m.short_code
                            from reaper_internal.matching_pastes(p_rule, v_locked, p_before, p_now) as m
                            join unnest(p_codes, p_ends) as l (short_code, expires_at)
                              on l.short_code = m.short_code and l.expires_at is not distinct from m.expires_at);
        with due as (
            update reaper.pastes p set expires_at = p_now where p.short_code = any (v_locked) returning p.short_code
        )
        select coalesce(array_agg(d.short_code), '{}') into expired from due d;
        skipped := cardinality(p_codes) - cardinality(expired);
        return;
    exception when others or assert_failure then
        if reaper_internal.is_transient(sqlstate) then
            raise;
        end if;
    end;

    if v_half = 0 then
        expired := '{}';
        skipped := 0;
        refused := cardinality(p_codes);
        return;
    end if;
    select * into v_left from reaper_internal.expire_matching(p_rule, p_codes[:v_half], p_ends[:v_half], p_before, p_now);
    select * into v_right from reaper_internal.expire_matching(p_rule, p_codes[v_half + 1:], p_ends[v_half + 1:], p_before, p_now);
    expired := v_left.expired || v_right.expired;
    skipped := v_left.skipped + v_right.skipped;
    refused := v_left.refused + v_right.refused;
end;
$$;
comment on function reaper_internal.expire_matching(reaper.lifecycle_rules, text[], timestamptz[], timestamptz, timestamptz) is
    'For apply_lifecycle_rule: sets expires_at of those of the pastes that still match and that no other transaction holds. Returns which, how many were skipped and how many PostgreSQL refused.';
revoke all on function reaper_internal.expire_matching(reaper.lifecycle_rules, text[], timestamptz[], timestamptz, timestamptz) from public;
