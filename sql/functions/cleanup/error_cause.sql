-- error_cause: the kind of an error, by which dead letters are filtered: the code in front of the first colon, as S3 gives it.
create or replace function reaper.error_cause(p_error text)
    returns text
    language sql immutable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select coalesce(substring(split_part(p_error, ':', 1) from '^[A-Za-z0-9]{1,64}$'), 'other');
$$;
comment on function reaper.error_cause(text) is
    'The kind of an error: AccessDenied for the error "AccessDenied: no permission"; other where no code is in front.';
revoke all on function reaper.error_cause(text) from public;
grant execute on function reaper.error_cause(text) to reaper_worker, reaper_ops, reaper_ro;
