-- matches_rule: the condition of a lifecycle rule, in one place. It is inlined, so it costs no call per row.
-- A paste without created_at, or of unknown size where the rule asks for one, gives null: it does not match.
create or replace function reaper_internal.matches_rule(
    p_rule reaper.lifecycle_rules, p_before timestamptz, p_short_code text, p_created_at timestamptz, p_size bigint
)
    returns boolean
    language sql immutable
as $$
    select p_created_at < p_before
           and ((p_rule).prefix is null or starts_with(p_short_code, (p_rule).prefix))
           and ((p_rule).min_size is null or p_size >= (p_rule).min_size)
           and ((p_rule).max_size is null or p_size <= (p_rule).max_size);
$$;
comment on function reaper_internal.matches_rule(reaper.lifecycle_rules, timestamptz, text, timestamptz, bigint) is
    'Whether a paste with this code, time of creation and size matches a lifecycle rule.';
revoke all on function reaper_internal.matches_rule(reaper.lifecycle_rules, timestamptz, text, timestamptz, bigint) from public;
