-- missing_brake_reason: are so many objects missing that the bucket is more likely the wrong one? Then the pass stops, and nothing is recorded.
create or replace function reaper_internal.missing_brake_reason(p_pass reaper.reconciliations, p_is_last boolean)
    returns text
    language sql stable
as $$
    select case when p_is_last and p_pass.listed = 0 and p_pass.expected > 0
                then format('the bucket is empty, %s objects should be there', p_pass.expected)
                when p_pass.missing >= 50 and p_pass.missing > s.missing_brake * p_pass.expected
                then format('%s of %s objects are missing, more than settings.missing_brake = %s allows', p_pass.missing, p_pass.expected, s.missing_brake) end
      from reaper.settings s;
$$;
comment on function reaper_internal.missing_brake_reason(reaper.reconciliations, boolean) is
    'For record_listed: why a pass is to be stopped; null if it is not.';
revoke all on function reaper_internal.missing_brake_reason(reaper.reconciliations, boolean) from public;
