-- require_worker: what a nameless worker holds could never be told from what nobody holds.
create or replace function reaper.require_worker(p_worker text)
    returns void
    language plpgsql immutable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    if coalesce(p_worker, '') = '' then
        raise exception sqlstate 'RP005' using
            message = 'a worker needs a name',
            hint    = 'Give one that is unique per process, such as host:pid:random.';
    end if;
end;
$$;
comment on function reaper.require_worker(text) is
    'Internal: raises RP005 for a worker without a name.';
revoke all on function reaper.require_worker(text) from public;
