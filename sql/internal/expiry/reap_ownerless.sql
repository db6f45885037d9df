-- reap_ownerless: release rows that are marked and that no worker holds, as drops leave them that found a row busy.
-- Nothing is waited for, because the rows are locked by now. Those that cannot be released stay marked, in an ownerless batch; if none can,
-- nothing is changed and nothing stays locked.
create or replace function reaper_internal.reap_ownerless(p_limit integer, p_now timestamptz)
    returns reaper_internal.release
    language plpgsql volatile
as $$
declare
    v_claimed  record;
    v_release  reaper_internal.release;
begin
    v_claimed := reaper_internal.claim_ownerless(p_limit, p_now);
    if v_claimed.codes is null then
        raise no_data_found;  -- Undoes the locks, and the return of rows that live: the caller may wait next.
    end if;
    v_release := reaper_internal.release_patiently(v_claimed.codes, v_claimed.places, true, p_now, '{leave_all}', v_claimed.other_statuses);
    if v_release.deleted_codes = '{}' and v_release.rows_blocked = 0 then
        raise no_data_found;  -- Undoes the locks.
    end if;
    perform reaper_internal.leave_marked(v_release.busy_codes, v_claimed.other_statuses, p_now);
    return v_release;
exception when no_data_found then
    return null;
end;
$$;
comment on function reaper_internal.reap_ownerless(integer, timestamptz) is
    'For reap: releases up to p_limit rows of ownerless claimed batches; null if there is none that can be released.';
revoke all on function reaper_internal.reap_ownerless(integer, timestamptz) from public;
