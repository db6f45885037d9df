-- require_free_key: refuse a content row whose object key is queued for deletion.
-- Runs after the change: before it, the unique index has not waited for the transaction that retires the name.
create or replace function reaper_internal.require_free_key()
    returns trigger
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_key text := coalesce(new.object_key, new.content_hash);
begin
    if exists (select from reaper.retired_keys k where k.object_key = v_key) then
        raise exception sqlstate 'RP004' using
            message = format('object %s is queued for deletion', v_key),
            hint    = 'Store the content under a new object_key, or try again when the object is deleted.';
    end if;
    -- A snapshot older than the retirement does not show it, the unique index does: then PostgreSQL raises 40001 here.
    if current_setting('transaction_isolation') in ('repeatable read', 'serializable') then
        insert into reaper.retired_keys (object_key, retired_at) values (v_key, now()) on conflict do nothing;
        delete from reaper.retired_keys k where k.object_key = v_key;
    end if;
    return null;
end;
$$;
comment on function reaper_internal.require_free_key() is
    'Trigger on content: raises RP004 (or 40001, if the snapshot is older) while the object key of the new row is in reaper.retired_keys.';
revoke all on function reaper_internal.require_free_key() from public;
