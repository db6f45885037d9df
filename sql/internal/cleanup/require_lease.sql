-- require_lease: a lease is settled by its holder, and only for the objects it holds: what is not reported as failed counts as deleted.
-- A lease that may have lost a part to another worker (it expired, or its codes were queued again): then it settles nothing, and the rest is due again.
create or replace function reaper_internal.require_lease(p_held text[], p_reported text[], p_lease uuid, p_lost_a_part boolean default false)
    returns void
    language plpgsql volatile
as $$
begin
    if coalesce(p_held, '{}') = '{}' or (p_lost_a_part and not p_reported <@ p_held) then
        perform nextval('reaper.refusals');
        raise exception sqlstate 'RP001' using
            message = format('lease %s is no longer held', coalesce(p_lease::text, '(null)')),
            hint    = 'Skip it and continue: it expired and another worker may have leased its rows, or it was settled already.';
    end if;
    if not p_reported <@ p_held then
        raise exception sqlstate 'RP005' using
            message = format('lease %s does not hold everything reported as failed', p_lease),
            hint    = 'Report only what claim_cleanup or claim_invalidations returned for this lease.';
    end if;
end;
$$;
comment on function reaper_internal.require_lease(text[], text[], uuid, boolean) is
    'For finish_cleanup and finish_invalidations: RP001 if the lease holds nothing any more, or may have lost the part that is reported; RP005 if a failure is reported that it does not hold.';
revoke all on function reaper_internal.require_lease(text[], text[], uuid, boolean) from public;
