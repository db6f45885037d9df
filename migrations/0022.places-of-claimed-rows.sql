-- Lets a batch remember where its rows lie on disk after they were marked: the drop looks there first, and by code only for
-- rows that were changed since. Finding a thousand rows by their codes took a tenth of a drop.
-- locks: reaper.batches ACCESS EXCLUSIVE, catalogue change only (milliseconds)
-- depends: 0021.plain-journal
alter table reaper.batches
    add column places tid[];
alter table reaper.batches
    alter column places set storage external;
comment on column reaper.batches.places is
    'Where the claimed rows lie, in the order of short_codes; null when unknown, and once they are gone. A hint: rows are told by their codes.';
