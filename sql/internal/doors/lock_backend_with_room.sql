-- lock_backend_with_room: lock a backend's row if so many bytes fit under its quota; only writers that reserve wait for each other here.
-- The balance is read in a new statement after the lock, so it includes every reservation made under it: no overcommitment.
-- Without room the lock is released with the savepoint: a caller that tries the next backend holds nothing while waiting.
create or replace function reaper_internal.lock_backend_with_room(p_backend text, p_size_bytes bigint)
    returns boolean
    language plpgsql volatile
as $$
declare
    v_backend  reaper.backend_list;
    v_taken    numeric;
    v_rows     bigint;
begin
    select * into v_backend from reaper.backend_list b where b.name = p_backend for no key update;
    select coalesce(sum(d.used_bytes + d.orphan_bytes + d.reserved_bytes), 0), count(*)
      into v_taken, v_rows
      from reaper.byte_deltas d
     where d.backend = p_backend;
    -- Its state or quota may have changed while we waited.
    if v_backend.state is distinct from 'active' or v_backend.quota - v_taken < p_size_bytes then
        raise exception sqlstate 'RP008';
    end if;
    if v_rows > 500 then
        perform reaper.fold_accounts(10000, p_backend);
    end if;
    return true;
exception when sqlstate 'RP008' then
    return false;
end;
$$;
comment on function reaper_internal.lock_backend_with_room(text, bigint) is
    'For choose_backend: locks the backend if it is active and has room under its quota, until the end of the transaction; false, and no lock, if not.';
revoke all on function reaper_internal.lock_backend_with_room(text, bigint) from public;
