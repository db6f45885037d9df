-- merge_releases: the results of two parts of one release as one.
create or replace function reaper_internal.merge_releases(p_one reaper.release, p_other reaper.release)
    returns reaper.release
    language plpgsql immutable
as $$
begin
    return row(
        p_one.deleted_codes || p_other.deleted_codes,
        p_one.busy_codes || p_other.busy_codes,
        p_one.object_hashes || p_other.object_hashes,
        p_one.object_keys || p_other.object_keys,
        p_one.object_sizes || p_other.object_sizes,
        p_one.rows_returned + p_other.rows_returned,
        p_one.rows_blocked + p_other.rows_blocked);
end;
$$;
comment on function reaper_internal.merge_releases(reaper.release, reaper.release) is
    'For release_or_block: both results as one.';
revoke all on function reaper_internal.merge_releases(reaper.release, reaper.release) from public;
