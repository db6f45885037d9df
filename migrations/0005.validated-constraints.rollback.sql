-- A validated constraint is not made invalid again: it says nothing untrue, and the step before drops what reaper added.
-- locks: none
select 1;
