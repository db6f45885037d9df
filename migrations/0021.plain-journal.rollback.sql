alter table reaper.runs
    alter column content_hashes set storage extended,
    alter column short_codes set storage extended;
alter table reaper.batches
    alter column object_keys set storage extended,
    alter column object_hashes set storage extended,
    alter column short_codes set storage extended;
