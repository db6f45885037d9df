-- require_lease: a lease is settled by who holds it, and only for what it has: whatever is not reported counts as gone.
-- One that ran out may have lost a part to somebody else: then it settles nothing, and what is left of it comes due again.
create or replace function reaper_internal.require_lease(p_held text[], p_reported text[], p_lease uuid, p_ran_out boolean default false)
    returns void
    language plpgsql volatile
as $$
begin
    if coalesce(p_held, '{}') = '{}' or (p_ran_out and not p_reported <@ p_held) then
        perform nextval('reaper.refusals');
        raise exception sqlstate 'RP001' using
            message = format('lease %s is no longer held', coalesce(p_lease::text, '(null)')),
            hint    = 'Drop it and go on: it ran out and somebody else tries, or it was settled.';
    end if;
    if not p_reported <@ p_held then
        raise exception sqlstate 'RP005' using
            message = format('lease %s does not hold all that is reported as failed', p_lease),
            hint    = 'Report only what claim_cleanup or claim_invalidations returned for this lease.';
    end if;
end;
$$;
comment on function reaper_internal.require_lease(text[], text[], uuid, boolean) is
    'For finish_cleanup and finish_invalidations: RP001 when the lease holds nothing any more, or ran out and lost a part; RP005 when something is reported that it does not hold.';
revoke all on function reaper_internal.require_lease(text[], text[], uuid, boolean) from public;
