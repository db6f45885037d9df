-- require_worker: refuse a worker without a name: its batches could not be told from ownerless ones.
create or replace function reaper_internal.require_worker(p_worker text)
    returns void
    language plpgsql immutable
as $$
begin
    if coalesce(p_worker, '') = '' then
        raise exception sqlstate 'RP005' using
            message = 'p_worker must not be empty',
            hint    = 'Give a worker name that is unique per process, such as host:pid:random.';
    end if;
end;
$$;
comment on function reaper_internal.require_worker(text) is
    'Raises RP005 for a worker without a name.';
revoke all on function reaper_internal.require_worker(text) from public;
