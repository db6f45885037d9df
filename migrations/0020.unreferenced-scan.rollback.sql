comment on column reaper.drift.action is
    'raised: set to the true count. collected: too low, but no row is left. left: too high, in doubt leak. lowered: too high, and repaired by repair_counts.';
drop table reaper.unreferenced_scan;
