-- require_free_keys: content that took a retired name while the table had no guard: its object is about to be deleted. The caller holds the
-- table, so no other row can take one now.
create or replace function reaper_internal.require_free_keys()
    returns void
    language plpgsql stable
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_taken text;
begin
    select string_agg(k.object_key, ', ')
      into v_taken
      from reaper.retired_keys k
     where exists (select from reaper.content c where c.object_key = k.object_key)
        or exists (select from reaper.content c where c.content_hash = k.object_key and c.object_key is null);
    if v_taken is not null then
        raise exception sqlstate 'RP004' using
            message = format('content uses object keys that are queued for deletion: %s', left(v_taken, 1000)),
            hint    = 'Store these contents under new object keys (or delete the rows), then bind again. Nothing is deleted until then.';
    end if;
end;
$$;
comment on function reaper_internal.require_free_keys() is
    'For create_key_guard: RP004 if content took a retired object key while the table had no guard.';
revoke all on function reaper_internal.require_free_keys() from public;
