-- error_cause: the error code by which DLQ entries are filtered: the text before the first colon, as S3 gives it.
create or replace function reaper.error_cause(p_error text)
    returns text
    language sql immutable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select coalesce(substring(split_part(p_error, ':', 1) from '^[A-Za-z0-9]{1,64}$'), 'other');
$$;
comment on function reaper.error_cause(text) is
    'Error code of an error text: AccessDenied for "AccessDenied: no permission"; other if the text has no code.';
revoke all on function reaper.error_cause(text) from public;
grant execute on function reaper.error_cause(text) to reaper_worker, reaper_ops, reaper_ro;
