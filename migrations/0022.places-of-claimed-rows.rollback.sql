alter table reaper.batches
    drop column places;
