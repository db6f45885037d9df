-- require_free_key: refuse a content row whose object key is queued for deletion.
-- Runs after the change: before it, the unique index has not waited for the transaction that retires the name. The columns that it reads are
-- those that the trigger names, so that it works for any table, and still works after the application has renamed one of them.
create or replace function reaper_internal.require_free_key()
    returns trigger
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_sees_all  boolean := current_setting('transaction_isolation') not in ('repeatable read', 'serializable');
    v_key       text;
begin
    if v_sees_all and not exists (select from reaper.retired_keys) then
        return null;
    end if;
    v_key := reaper_internal.key_of_row(tg_relid, tg_name, tg_argv[0], to_jsonb(new));
    if exists (select from reaper.retired_keys k where k.object_key = v_key) then
        raise exception sqlstate 'RP004' using
            message = format('object %s is queued for deletion', v_key),
            hint    = 'Store the content under a new object_key, or try again when the object is deleted.';
    end if;
    -- A snapshot older than the retirement does not show it, the unique index does: then PostgreSQL raises 40001 here.
    if not v_sees_all then
        insert into reaper.retired_keys (object_key, retired_at) values (v_key, now()) on conflict do nothing;
        delete from reaper.retired_keys k where k.object_key = v_key;
    end if;
    return null;
end;
$$;
comment on function reaper_internal.require_free_key() is
    'Trigger on the bound content table: raises RP004 (or 40001, if the snapshot is older) while the object key of the new row is in reaper.retired_keys.';
revoke all on function reaper_internal.require_free_key() from public;
