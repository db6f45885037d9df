-- add_lifecycle_rule: register that pastes of a kind become due at an age. Nothing becomes due before enable_lifecycle_rule(), unless p_enabled.
create or replace function reaper.add_lifecycle_rule(
    p_name             text,
    p_prefix           text    default null,
    p_min_size         bigint  default null,
    p_max_size         bigint  default null,
    p_expiration_days  integer default null,
    p_enabled          boolean default false
)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    perform reaper_internal.require_rule_arguments(p_name, p_prefix, p_min_size, p_max_size, p_expiration_days, p_enabled);
    perform reaper_internal.require_lifecycle_index(p_name);
    insert into reaper.lifecycle_rules (name, prefix, min_size, max_size, expiration_days, enabled, created_by, created_at)
    values (p_name, p_prefix, p_min_size, p_max_size, p_expiration_days, p_enabled, session_user, reaper.clock())
        on conflict (name) do nothing;
    if not found then
        perform reaper_internal.require_no_rule_problems(p_name, array['a rule of this name exists'],
                    array[format('Choose another name, or remove the existing rule first: select reaper.remove_lifecycle_rule(%L)', p_name)]);
    end if;
    perform reaper_internal.record_audit('add_lifecycle_rule', 'lifecycle:' || p_name, null,
                format('prefix %s, size %s to %s, after %s days, %s', coalesce(quote_literal(p_prefix), 'any'), coalesce(p_min_size::text, 'any'),
                       coalesce(p_max_size::text, 'any'), p_expiration_days, case when p_enabled then 'enabled' else 'not enabled' end));
end;
$$;
comment on function reaper.add_lifecycle_rule(text, text, bigint, bigint, integer, boolean) is
    'Registers that pastes whose short_code begins with p_prefix and whose content has p_min_size to p_max_size bytes become due p_expiration_days after their created_at; '
    'at least one filter is needed. Not applied until enable_lifecycle_rule(), unless p_enabled. RP005 (the hint has the fix) for invalid values, and if the table has no index led by created_at.';
revoke all on function reaper.add_lifecycle_rule(text, text, bigint, bigint, integer, boolean) from public;
grant execute on function reaper.add_lifecycle_rule(text, text, bigint, bigint, integer, boolean) to reaper_ops;
