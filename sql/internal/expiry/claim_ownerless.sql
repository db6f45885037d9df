-- claim_ownerless: claim marked rows that no worker holds, because a transaction held them during their drop.
-- Claims side by side take from different batches. Only a claim that finds nothing there waits for the batches that other claims hold:
-- those may have found a row busy because this claim had locked it, so it must not leave it either. It holds nothing while it waits, and
-- waits in the order of claimed_at, which never changes.
create or replace function reaper_internal.claim_ownerless(
    in  p_limit         integer,
    in  p_now           timestamptz,
    out seen            bigint,
    out codes           text[],
    out places          tid[],
    out other_statuses  jsonb,
    out last_expires    timestamptz,
    out last_code       text
)
    language plpgsql volatile
    set lock_timeout = '2s'
as $$
declare
    v_claimed record;
begin
    seen := (select count(*) from reaper.batches b where b.state = 'CLAIMED' and b.worker is null);
    if seen = 0 then
        return;
    end if;
    begin
        v_claimed := reaper_internal.claim_from_batches(
            array(select b.batch_id
                    from reaper.batches b
                   where b.state = 'CLAIMED' and b.worker is null
                   order by b.claimed_at, b.batch_id
                   limit 20
                     for update skip locked), p_limit, p_now);
        if v_claimed.codes is null then
            perform reaper_internal.undo();
        end if;
    exception when sqlstate 'UNDO0' then
        v_claimed := reaper_internal.claim_from_batches(
            array(select b.batch_id
                    from reaper.batches b
                   where b.state = 'CLAIMED' and b.worker is null
                   order by b.claimed_at, b.batch_id
                     for update), p_limit, p_now);
    end;
    codes := v_claimed.codes;
    places := v_claimed.places;
    other_statuses := v_claimed.other_statuses;
    last_expires := v_claimed.last_expires;
    last_code := v_claimed.last_code;
exception when lock_not_available or deadlock_detected then
    null;  -- A session keeps its claim open; the watchdog returns these rows later.
end;
$$;
comment on function reaper_internal.claim_ownerless(integer, timestamptz) is
    'For claim_expired: takes up to p_limit rows out of the ownerless claimed batches, as claim_from_batches does; seen is the number of these batches.';
revoke all on function reaper_internal.claim_ownerless(integer, timestamptz) from public;
