-- require_claim_arguments: a claim that is too large is a transaction that is too long, and a nameless one has no holder.
create or replace function reaper.require_claim_arguments(p_limit integer, p_worker text)
    returns void
    language plpgsql immutable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    if p_limit is null or p_limit not between 1 and 10000 then
        raise exception sqlstate 'RP005' using
            message = format('a batch of %s rows is not possible', coalesce(p_limit::text, 'null')),
            hint    = 'Give a batch size from 1 to 10000; 1000 is a good one.';
    end if;
    if coalesce(p_worker, '') = '' then
        raise exception sqlstate 'RP005' using
            message = 'a batch needs the name of its worker',
            hint    = 'Give a name that is unique per process, such as host:pid:random.';
    end if;
end;
$$;
comment on function reaper.require_claim_arguments(integer, text) is
    'Raises RP005 for a batch size outside 1 to 10000 or a worker without a name.';
revoke all on function reaper.require_claim_arguments(integer, text) from public;
