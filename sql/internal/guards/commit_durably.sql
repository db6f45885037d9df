-- commit_durably: S3 deletions follow this commit: it must be on disk, and on the synchronous standby, before they start, whatever
-- synchronous_commit the session has.
create or replace function reaper_internal.commit_durably()
    returns void
    language plpgsql volatile
as $$
begin
    if current_setting('synchronous_commit') in ('off', 'local') then
        perform set_config('synchronous_commit', 'on', true);
    end if;
end;
$$;
comment on function reaper_internal.commit_durably() is
    'Makes the commit of this transaction wait for the disk, and for the synchronous standby where there is one.';
revoke all on function reaper_internal.commit_durably() from public;
