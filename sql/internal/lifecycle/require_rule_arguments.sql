-- require_rule_arguments: refuse invalid values of a lifecycle rule, all at once.
create or replace function reaper_internal.require_rule_arguments(
    p_name text, p_prefix text, p_min_size bigint, p_max_size bigint, p_expiration_days integer, p_enabled boolean
)
    returns void
    language plpgsql stable
as $$
declare
    v_problems text[];
    v_fixes    text[];
begin
    select array_agg(a.problem), array_agg(a.fix)
      into v_problems, v_fixes
      from (values
            (p_name ~ '^[A-Za-z][A-Za-z0-9_.-]{0,62}$',
             'invalid rule name', 'Give a letter, then up to 62 letters, digits, or any of _ . -'),
            (p_expiration_days between 1 and 36500,
             format('invalid expiration_days: %s', coalesce(p_expiration_days::text, 'null')), 'Give a number of days from 1 to 36500, such as 90.'),
            (num_nonnulls(p_prefix, p_min_size, p_max_size) > 0,
             'the rule has no filter and would match every paste', 'Give p_prefix, p_min_size or p_max_size.'),
            (coalesce(p_prefix <> '', true), 'the prefix is empty and would match every paste', 'Give a prefix of at least one character, or null.'),
            (coalesce(p_min_size >= 0, true), format('invalid min_size: %s', p_min_size), 'Give a number of bytes, 0 or more.'),
            (coalesce(p_max_size >= 0, true), format('invalid max_size: %s', p_max_size), 'Give a number of bytes, 0 or more.'),
            (coalesce(p_min_size <= p_max_size, true), format('min_size %s is larger than max_size %s', p_min_size, p_max_size), 'Give a min_size up to the max_size.'),
            (p_enabled is not null, 'p_enabled is null', 'Give true or false.')
           ) as a (holds, problem, fix)
     where a.holds is not true;
    perform reaper_internal.require_no_rule_problems(p_name, v_problems, v_fixes);
end;
$$;
comment on function reaper_internal.require_rule_arguments(text, text, bigint, bigint, integer, boolean) is
    'Raises RP005 for an invalid name, prefix, size or age of a lifecycle rule.';
revoke all on function reaper_internal.require_rule_arguments(text, text, bigint, bigint, integer, boolean) from public;
