-- judge_copy: lock the content and recount: is this copy still needed? Everything is read in new statements after the lock, which every
-- function that adds, judges or removes a copy takes, and every release of the content.
-- What replaces a copy may have to write the object key, a key column: for that the lock must be the strong one from the start.
create or replace function reaper_internal.judge_copy(p_intent reaper.copy_intents, p_source text, p_size bigint, p_sha256 text, p_now timestamptz)
    returns text
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
as $$
declare
    v_need    record;
    v_proven  boolean := reaper_internal.is_digest(p_intent.content_hash) and p_sha256 is not null;
begin
    if p_intent.purpose = 'replicate' then
        perform from reaper.content c where c.content_hash = p_intent.content_hash for no key update;
    else
        perform from reaper.content c where c.content_hash = p_intent.content_hash for update;
    end if;
    if not found then
        return 'content_gone';
    end if;
    if not exists (select from reaper.backend_list b where b.name = p_intent.destination and b.state <> 'draining')
       or exists (select from reaper.object_locations l
                   where l.content_hash = p_intent.content_hash and l.backend = p_intent.destination
                     and (l.trouble is null or p_intent.purpose = 'replicate'))
       -- Copied from bytes that were found to be bad meanwhile, and no digest says otherwise.
       or (not v_proven and exists (select from reaper.object_locations l
                                     where l.content_hash = p_intent.content_hash and l.backend = p_source and l.trouble = 'corrupt'))
    then
        return 'not_needed';
    end if;
    select * into v_need from reaper_internal.copy_needs(array[p_intent.content_hash], p_now);
    if v_need.is_wanted and v_need.good > 0 then
        return 'needed';
    end if;
    -- A move of the rebalancer: nothing is missing, the copy changes its place.
    if p_intent.purpose = 'move'
       and (not exists (select from reaper.object_locations l where l.content_hash = p_intent.content_hash)
            or exists (select from reaper.object_locations l
                        where l.content_hash = p_intent.content_hash and l.backend = p_intent.replaces_backend
                          and l.object_key = p_intent.replaces_key and l.trouble is null))
       and not v_need.is_excess
    then
        return 'needed';
    end if;
    return 'not_needed';
end;
$$;
comment on function reaper_internal.judge_copy(reaper.copy_intents, text, bigint, text, timestamptz) is
    'For commit_copy: locks the content; needed, not_needed or content_gone.';
revoke all on function reaper_internal.judge_copy(reaper.copy_intents, text, bigint, text, timestamptz) from public;
