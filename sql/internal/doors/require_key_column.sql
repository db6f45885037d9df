-- require_key_column: refuse to create content where the object key is an expression over the row: no key can be written into it, and the
-- intent's own key, which no other writer has, would not be the one that readers compute.
create or replace function reaper_internal.require_key_column()
    returns void
    language plpgsql stable
as $$
declare
    v_binding reaper.bindings;
begin
    select * into v_binding from reaper.bindings b where b.name = 'content' and b.key_expression is not null;
    if found then
        raise exception sqlstate 'RP009' using
            message = format('content cannot be created here: object_key of %s is the expression %s', v_binding.bound_table, v_binding.key_expression),
            hint    = 'Let the application store the object and insert the content row itself, or bind object_key to a column.';
    end if;
end;
$$;
comment on function reaper_internal.require_key_column() is
    'For begin_put and add_reference: RP009 if the object key is bound to an expression.';
revoke all on function reaper_internal.require_key_column() from public;
