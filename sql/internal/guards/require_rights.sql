-- require_rights: refuse with the GRANT that helps, where PostgreSQL would only say "permission denied for table …" to an application that
-- cannot know that the functions run as reaper_owner, or where a drop would take it for a fault of its rows.
create or replace function reaper_internal.require_rights(p_name text, p_privileges text[])
    returns void
    language plpgsql stable
as $$
declare
    v_table      text := (select b.bound_table from reaper.bindings b where b.name = p_name);
    v_privilege  text;
begin
    foreach v_privilege in array p_privileges loop
        if not has_table_privilege('reaper_owner', to_regclass(v_table), v_privilege) then
            raise exception sqlstate 'RP010' using
                message = format('reaper_owner has no right to %s rows of %s', lower(v_privilege), v_table),
                hint    = format('grant select, insert, update, delete on %s to reaper_owner', v_table);
        end if;
    end loop;
end;
$$;
comment on function reaper_internal.require_rights(text, text[]) is
    'For the doors and drops: raises RP010, with the GRANT that helps, if reaper_owner lacks one of these rights on the table that is bound as p_name.';
revoke all on function reaper_internal.require_rights(text, text[]) from public;
