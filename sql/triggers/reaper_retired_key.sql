-- locks: content SHARE ROW EXCLUSIVE, catalogue change only (milliseconds)
-- A key with 128 random bits of its own is never used twice: such rows do not pay for the guard.
create or replace trigger reaper_retired_key
    after insert or update of object_key on public.content
    for each row
    when (not coalesce(starts_with(new.object_key, left(new.content_hash, 2) || '/' || new.content_hash || '/')
                       and length(new.object_key) >= length(new.content_hash) + 36, false))
    execute function reaper_internal.require_free_key();
comment on trigger reaper_retired_key on public.content is
    'Guards names that an application may use again, such as the bare content hash; rows with a random key of their own do not pay for it.';
