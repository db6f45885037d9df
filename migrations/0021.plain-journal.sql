-- Keeps the journal's arrays as they are instead of compressing them: codes, hashes and keys are mostly random, and compressing
-- and reading them again cost a fifth of a drop's time. They live for seconds in a batch, and settings.keep_codes long in a run.
-- locks: reaper.batches and reaper.runs ACCESS EXCLUSIVE, catalogue change only (milliseconds)
-- depends: 0020.unreferenced-scan
alter table reaper.batches
    alter column short_codes set storage external,
    alter column object_hashes set storage external,
    alter column object_keys set storage external;
alter table reaper.runs
    alter column short_codes set storage external,
    alter column content_hashes set storage external;
