-- require_no_rule_problems: raise all problems at once, with all fixes; does nothing without a problem.
create or replace function reaper_internal.require_no_rule_problems(p_name text, p_problems text[], p_fixes text[])
    returns void
    language plpgsql immutable
as $$
begin
    if cardinality(p_problems) > 0 then
        raise exception sqlstate 'RP005' using
            message = format('lifecycle rule %s: %s', coalesce(p_name, '(null)'), array_to_string(p_problems, '; ')),
            hint    = array_to_string(p_fixes, E'\n');
    end if;
end;
$$;
comment on function reaper_internal.require_no_rule_problems(text, text[], text[]) is
    'Raises RP005 with every problem in the message and every fix in the hint; does nothing without a problem.';
revoke all on function reaper_internal.require_no_rule_problems(text, text[], text[]) from public;
