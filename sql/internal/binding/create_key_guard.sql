-- create_key_guard: the trigger that keeps reusable object names from being used while they are queued for deletion.
-- It names the column of the hash, then what the key is made of: require_free_key reads these columns from the trigger itself, because
-- PostgreSQL follows a renamed column there. A key with 128 random bits is never used twice: such rows skip the guard.
create or replace function reaper_internal.create_key_guard()
    returns void
    language plpgsql volatile
as $$
declare
    v_binding  reaper.bindings;
    v_hash     text;
    v_key      text;
    v_columns  text;
begin
    select * into v_binding from reaper.bindings b where b.name = 'content';
    if reaper_internal.has_key_guard() then
        return;
    end if;
    if exists (select from pg_catalog.pg_trigger t
                where t.tgrelid = reaper_internal.bound_oid(v_binding.bound_table) and t.tgname = 'reaper_retired_key') then
        raise exception sqlstate 'RP010' using
            message = format('trigger reaper_retired_key on %s is disabled or watches other columns than those of the binding', v_binding.bound_table),
            hint    = 'As the owner of the table: begin; select reaper.unbind(); select reaper.bind(…); commit; or run reaper migrate.';
    end if;
    v_hash := v_binding.columns ->> 'content_hash';
    v_key := v_binding.columns ->> 'object_key';
    if v_key is not null then
        execute format('create trigger reaper_retired_key after insert or update of %1$I, %2$I on %3$s for each row
                        when (not coalesce(starts_with(new.%2$I, left(new.%1$I, 2) || ''/'' || new.%1$I || ''/'')
                                           and length(new.%2$I) >= length(new.%1$I) + 36, false))
                        execute function reaper_internal.require_free_key(''column'')', v_hash, v_key, v_binding.bound_table);
        perform reaper_internal.require_free_keys();
        return;
    end if;
    -- Every column whose name occurs in the expression: one too many costs a look, one too few would miss a change.
    select string_agg(format('%I', a.attname), ', ' order by a.attname <> v_hash, a.attnum)
      into v_columns
      from pg_catalog.pg_attribute a
     where a.attrelid = reaper_internal.bound_oid(v_binding.bound_table) and a.attnum > 0 and not a.attisdropped
       and (a.attname = v_hash or strpos(v_binding.key_expression, a.attname) > 0);
    execute format('create trigger reaper_retired_key after insert or update of %s on %s for each row
                    execute function reaper_internal.require_free_key(''expression'')', v_columns, v_binding.bound_table);
    perform reaper_internal.require_free_keys();
end;
$$;
comment on function reaper_internal.create_key_guard() is
    'For bind: creates the trigger reaper_retired_key on the bound content table, if it is missing. RP004 if content took a retired key meanwhile, RP010 if another trigger has its name.';
revoke all on function reaper_internal.create_key_guard() from public;
