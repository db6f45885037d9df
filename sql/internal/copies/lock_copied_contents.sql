-- lock_copied_contents: lock the intents of a lease and then their contents, in hash order like every function that locks several.
-- FOR NO KEY UPDATE suffices to add a copy. What replaces one may have to write the object key, a key column, and takes the strong lock from the
-- start: to raise it later could deadlock with a writer that holds KEY SHARE and waits to count its reference.
create or replace function reaper_internal.lock_copied_contents(p_lease uuid, p_intents uuid[])
    returns void
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_hashes  text[];
    v_strong  boolean;
begin
    select array_agg(i.content_hash), bool_or(i.purpose <> 'replicate')
      into v_hashes, v_strong
      from (select n.content_hash, n.purpose
              from reaper.copy_intents n
             where n.intent_id = any (p_intents) and n.lease = p_lease
             order by n.content_hash
               for update) as i;
    if v_strong then
        perform from reaper.content c where c.content_hash = any (v_hashes) order by c.content_hash for update;
    else
        perform from reaper.content c where c.content_hash = any (v_hashes) order by c.content_hash for no key update;
    end if;
end;
$$;
comment on function reaper_internal.lock_copied_contents(uuid, uuid[]) is
    'For commit_copies: locks the intents that the lease still holds, and their contents.';
revoke all on function reaper_internal.lock_copied_contents(uuid, uuid[]) from public;
