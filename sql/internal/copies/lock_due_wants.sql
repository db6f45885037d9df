-- lock_due_wants: the most endangered contents that want a copy and are due, locked; those that other transactions hold are skipped. Contents
-- without any good copy come last: nothing can be done for them but to look whether one has come back.
create or replace function reaper_internal.lock_due_wants(p_limit integer, p_now timestamptz)
    returns text[]
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_hashes  text[] := '{}';
begin
    for v_good in 1 .. 17 loop
        v_hashes := v_hashes || array(
            select w.content_hash
              from reaper.copy_wants w
             where w.good = v_good % 17 and w.next_attempt <= p_now
             order by w.next_attempt
             limit p_limit - cardinality(v_hashes)
               for update skip locked);
        exit when cardinality(v_hashes) = p_limit;
    end loop;
    return v_hashes;
end;
$$;
comment on function reaper_internal.lock_due_wants(integer, timestamptz) is
    'For claim_copies: locks up to p_limit wants that are due, those with the fewest good copies first, and returns their hashes.';
revoke all on function reaper_internal.lock_due_wants(integer, timestamptz) from public;
