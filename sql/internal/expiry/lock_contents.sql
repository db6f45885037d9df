-- lock_contents: lock content rows until the end of the transaction, in hash order, so that no two batches deadlock.
-- FOR UPDATE and nothing weaker: it waits for the KEY SHARE of a paste whose INSERT is not committed yet.
-- Without waiting, contents that other transactions hold are left out and returned separately; their pastes are tried later.
-- A locked row cannot change or move: its address and its count are returned too, and need not be looked up again.
create or replace function reaper_internal.lock_contents(p_hashes text[], p_wait boolean)
    returns reaper.locked_contents
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_locked  reaper.locked_contents;
    v_others  text[];
begin
    if p_wait then
        select coalesce(array_agg(l.content_hash), '{}'), array_agg(l.place), array_agg(l.ref_count), '{}'
          into v_locked
          from (select c.content_hash, c.place, c.ref_count
                  from reaper.content c where c.content_hash = any (p_hashes) order by c.content_hash for update) as l;
        return v_locked;
    end if;

    select coalesce(array_agg(l.content_hash), '{}'), array_agg(l.place), array_agg(l.ref_count), '{}'
      into v_locked
      from (select c.content_hash, c.place, c.ref_count
              from reaper.content c where c.content_hash = any (p_hashes) order by c.content_hash for update skip locked) as l;
    v_others := array(select unnest(p_hashes) except select unnest(v_locked.hashes));
    if v_others <> '{}' then
        -- Those that do not exist are not held by another transaction.
        v_locked.busy := array(select c.content_hash from reaper.content c where c.content_hash = any (v_others));
    end if;
    return v_locked;
end;
$$;
comment on function reaper_internal.lock_contents(text[], boolean) is
    'Locks content rows in hash order and returns their hashes, addresses and counts; without p_wait only those that no other transaction holds, and the hashes of the others.';
revoke all on function reaper_internal.lock_contents(text[], boolean) from public;
