-- reap_ownerless: release rows that are marked and that no worker holds, as drops leave them that found a row busy.
-- Nothing is waited for, because the rows are locked by now. Those whose row another transaction holds stay marked, in an ownerless batch. If
-- none is released, nothing is changed and nothing stays locked, because the caller may wait next. With p_last it does not: rows that are
-- blocked or not due are returned then.
create or replace function reaper_internal.reap_ownerless(p_limit integer, p_now timestamptz, p_last boolean)
    returns reaper.release
    language plpgsql volatile
as $$
declare
    v_claimed  record;
    v_release  reaper.release;
begin
    v_claimed := reaper_internal.claim_ownerless(p_limit, p_now);
    if v_claimed.codes is null then
        if not p_last then
            perform reaper_internal.undo();
        end if;
        return null;
    end if;
    v_release := reaper_internal.release_patiently(v_claimed.codes, v_claimed.places, true, p_now, '{leave_some}', v_claimed.other_statuses);
    if v_release.deleted_codes = '{}' and v_release.rows_blocked = 0 then
        perform reaper_internal.undo();
    end if;
    perform reaper_internal.disown_rows(v_release.busy_codes, v_claimed.other_statuses, p_now);
    return v_release;
exception when sqlstate 'UNDO0' then
    return null;
end;
$$;
comment on function reaper_internal.reap_ownerless(integer, timestamptz, boolean) is
    'For reap: releases up to p_limit rows of ownerless claimed batches; null if there is none that can be released. With p_last those that are blocked or not due are given back even so.';
revoke all on function reaper_internal.reap_ownerless(integer, timestamptz, boolean) from public;
