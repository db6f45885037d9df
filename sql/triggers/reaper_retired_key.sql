-- locks: content SHARE ROW EXCLUSIVE, catalogue change only (milliseconds)
create or replace trigger reaper_retired_key
    after insert on public.content
    for each row
    when (new.object_key is null or new.object_key = new.content_hash)
    execute function reaper.refuse_retired_key();
comment on trigger reaper_retired_key on public.content is
    'Guards names that are the bare content hash; rows with a key of their own do not pay for it.';
