-- Lets a repair write down that it lowered a ref_count.
-- locks: reaper.drift ACCESS EXCLUSIVE for one scan of it; only a drop that finds a wrong count writes there
-- depends: 0013.cleanup-leases
-- squawk-ignore ban-drop-constraint
alter table reaper.drift drop constraint if exists drift_action_check;
-- squawk-ignore constraint-missing-not-valid
alter table reaper.drift add constraint drift_action_check check (action in ('raised', 'collected', 'left', 'lowered'));
comment on column reaper.drift.action is
    'raised: set to the true count. collected: too low, but no row is left. left: too high, in doubt leak. lowered: too high, and repaired by repair_counts.';
