-- Adds the setting that chooses between marking rows before their release and releasing them directly, and the types in which the functions
-- of a release hand their results to each other.
-- locks: reaper.settings ACCESS EXCLUSIVE, for a moment
-- depends: 0011.installation
alter table reaper.settings
    add column if not exists claim_mode text not null default 'mark' constraint settings_claim_mode_check check (claim_mode in ('mark', 'direct'));
grant update (claim_mode) on reaper.settings to reaper_ops;
comment on column reaper.settings.claim_mode is
    'How workers and reaper drain take due rows: mark (DELETION_IN_PROGRESS first, released by a second transaction) or direct (locked and released in one transaction, never marked). call reaper.drain() is always direct.';

do $$
begin
    if to_regtype('reaper.release') is null then
        create type reaper.locked_pastes as (codes text[], places tid[], hashes text[]);
        create type reaper.locked_contents as (hashes text[], places tid[], ref_counts bigint[], busy text[]);
        create type reaper.released_objects as (hashes text[], backends text[], keys text[], sizes bigint[]);
        create type reaper.release as (
            deleted_codes text[], busy_codes text[], object_hashes text[], object_keys text[], object_sizes bigint[],
            rows_returned integer, rows_blocked integer
        );
    end if;
end;
$$;
comment on type reaper.locked_pastes is
    'Paste rows that the transaction has locked, as arrays of the same order: codes, addresses, hashes of their contents.';
comment on type reaper.locked_contents is
    'Content rows that the transaction has locked, as arrays of the same order: hashes, addresses, counts; busy are the hashes of those that other transactions hold.';
comment on type reaper.released_objects is
    'Objects to delete, as arrays of the same order: hash of the content, backend, key, size in bytes.';
comment on type reaper.release is
    'What became of the rows of a release: codes that are deleted, codes that stay marked because other transactions hold them, the contents that are deleted, and how many rows were returned or blocked.';
