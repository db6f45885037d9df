-- require_worker: what a nameless worker holds could never be told from what nobody holds.
create or replace function reaper_internal.require_worker(p_worker text)
    returns void
    language plpgsql immutable
as $$
begin
    if coalesce(p_worker, '') = '' then
        raise exception sqlstate 'RP005' using
            message = 'a worker needs a name',
            hint    = 'Give one that is unique per process, such as host:pid:random.';
    end if;
end;
$$;
comment on function reaper_internal.require_worker(text) is
    'Raises RP005 for a worker without a name.';
revoke all on function reaper_internal.require_worker(text) from public;
