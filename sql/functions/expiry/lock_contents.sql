-- lock_contents: hold content rows until the end of the transaction, in hash order, so that no two batches wait in a circle.
-- FOR UPDATE and nothing weaker: it waits for the KEY SHARE of a paste whose INSERT is not committed yet.
-- Without waiting, contents that somebody else holds are left out; their pastes are for another time.
create or replace function reaper.lock_contents(p_hashes text[], p_wait boolean)
    returns text[]
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
begin
    if p_wait then
        perform from public.content c where c.content_hash = any (p_hashes) order by c.content_hash for update;
        return p_hashes;
    end if;
    return array(select c.content_hash
                   from public.content c
                  where c.content_hash = any (p_hashes)
                  order by c.content_hash
                    for update skip locked);
end;
$$;
comment on function reaper.lock_contents(text[], boolean) is
    'Internal: locks content rows in hash order and returns their hashes; without p_wait only those that nobody else holds.';
revoke all on function reaper.lock_contents(text[], boolean) from public;
