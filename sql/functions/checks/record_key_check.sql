-- record_key_check: decide from a look for the objects of sample_keys() whether the binding names them rightly. A wrong rule finds none, a
-- right one nearly all: more than half decides; single lost objects are for reaper verify. Once true it stays true until the tables are bound
-- again: objects that a later look misses were lost, or it looked into another bucket, and neither is the binding's fault.
create or replace function reaper.record_key_check(
    p_looked    integer,
    p_found     integer,
    p_example   text        default null,
    p_bound_at  timestamptz default null
)
    returns boolean
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_binding    reaper.bindings;
    v_confirmed  boolean;
    v_words      text;
begin
    if p_looked is null or p_found is null or p_found not between 0 and p_looked then
        raise exception sqlstate 'RP005' using
            message = format('invalid result of a look: %s of %s objects found', coalesce(p_found::text, 'null'), coalesce(p_looked::text, 'null')),
            hint    = 'p_looked is how many keys of sample_keys() were looked for, p_found how many of them were found.';
    end if;
    select * into v_binding from reaper.bindings b where b.name = 'content' for update;
    -- An empty sample says nothing, and what was looked for under another binding says nothing about this one.
    if p_looked = 0 or v_binding.keys_confirmed or v_binding.bound_at <> p_bound_at then
        return v_binding.keys_confirmed;
    end if;

    v_confirmed := p_found * 2::bigint > p_looked;
    v_words := format('%s of %s objects were found', p_found, p_looked)
               || case when not v_confirmed and p_example is not null then ', one that was not: ' || p_example else '' end;
    update reaper.bindings b set keys_confirmed = v_confirmed, keys_checked = v_words where b.name = 'content';
    if v_confirmed is distinct from v_binding.keys_confirmed and (v_confirmed is false or v_binding.keys_confirmed is false) then
        perform reaper_internal.record_audit('check keys', v_binding.bound_table, null, v_words);
    end if;
    return v_confirmed;
end;
$$;
comment on function reaper.record_key_check(integer, integer, text, timestamptz) is
    'Records how many of p_looked object keys of sample_keys() were found, and returns keys_confirmed: true if more than half were, else false, and claims raise RP010. '
    'No change for an empty sample, once it is true, or if p_bound_at is not the bound_at of the binding any more. p_example is a key that was not found. Audited when it becomes or was false.';
revoke all on function reaper.record_key_check(integer, integer, text, timestamptz) from public;
grant execute on function reaper.record_key_check(integer, integer, text, timestamptz) to reaper_worker, reaper_ops;
