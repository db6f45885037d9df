-- locks: content SHARE ROW EXCLUSIVE, catalogue change only (milliseconds)
-- A key with 128 random bits is never used twice: the guard is skipped for such rows.
create or replace trigger reaper_retired_key
    after insert or update of object_key on public.content
    for each row
    when (not coalesce(starts_with(new.object_key, left(new.content_hash, 2) || '/' || new.content_hash || '/')
                       and length(new.object_key) >= length(new.content_hash) + 36, false))
    execute function reaper_internal.require_free_key();
comment on trigger reaper_retired_key on public.content is
    'Refuses (RP004) an object key that is queued for deletion and can be reused, such as the bare content hash; skipped for keys with random bits.';
