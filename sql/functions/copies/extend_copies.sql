-- extend_copies: extend the lease of the copies that a process still makes. What it has lost stays lost: those intents are gone.
create or replace function reaper.extend_copies(p_lease uuid)
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_held integer;
begin
    update reaper.copy_intents i set lease_until = reaper.clock() + interval '2 minutes' where i.lease = p_lease;
    get diagnostics v_held = row_count;
    return v_held;
end;
$$;
comment on function reaper.extend_copies(uuid) is
    'Extends a lease of claim_copies or claim_moves by two minutes from now; returns how many of its copies are not ended.';
revoke all on function reaper.extend_copies(uuid) from public;
grant execute on function reaper.extend_copies(uuid) to reaper_worker, reaper_ops;
