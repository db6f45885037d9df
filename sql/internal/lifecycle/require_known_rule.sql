-- require_known_rule: the lifecycle rule of this name; the error for an unknown name says how to list them.
create or replace function reaper_internal.require_known_rule(p_name text)
    returns reaper.lifecycle_rules
    language plpgsql stable
as $$
declare
    v_rule reaper.lifecycle_rules;
begin
    select * into v_rule from reaper.lifecycle_rules r where r.name = p_name;
    if not found then
        raise exception sqlstate 'RP005' using
            message = format('there is no lifecycle rule %s', coalesce(p_name, '(null)')),
            hint    = 'List the rules with: select name from reaper.lifecycle (reaper lifecycle list). Create one with reaper.add_lifecycle_rule().';
    end if;
    return v_rule;
end;
$$;
comment on function reaper_internal.require_known_rule(text) is
    'The lifecycle rule of this name; raises RP005 if there is none.';
revoke all on function reaper_internal.require_known_rule(text) from public;
