-- delete_unreferenced: delete content rows that the caller has locked and checked; if PostgreSQL refuses, halve until each row that cannot
-- be deleted, because another table of the application names it, is alone. Those rows stay; the others are deleted.
-- A ref_count that was not zero is recorded in reaper.drift: the paste rows are taken as the truth.
create or replace function reaper_internal.delete_unreferenced(
    in  p_hashes       text[],
    in  p_now          timestamptz,
    out object_hashes  text[],
    out object_keys    text[],
    out object_sizes   bigint[],
    out refused        integer
)
    language plpgsql volatile
as $$
declare
    v_half   integer := cardinality(p_hashes) / 2;
    v_left   record;
    v_right  record;
begin
    refused := 0;
    begin
        with gone as (
            delete from reaper.content c
             where c.content_hash = any (p_hashes)
            returning c.content_hash, coalesce(c.object_key, c.content_hash) as object_key, c.size_bytes, c.ref_count
        ), noted as (
            insert into reaper.drift (content_hash, expected, found, action, noticed_at)
            select g.content_hash, g.ref_count, 0, 'collected', p_now from gone g where g.ref_count <> 0
        )
        select coalesce(array_agg(g.content_hash), '{}'), coalesce(array_agg(g.object_key), '{}'), coalesce(array_agg(g.size_bytes), '{}')
          into object_hashes, object_keys, object_sizes
          from gone g;
        return;
    exception when others or assert_failure then
        if reaper_internal.is_transient(sqlstate) then
            raise;
        end if;
    end;

    if v_half = 0 then
        object_hashes := '{}';
        object_keys   := '{}';
        object_sizes  := '{}';
        refused       := cardinality(p_hashes);
        return;
    end if;
    select * into v_left from reaper_internal.delete_unreferenced(p_hashes[:v_half], p_now);
    select * into v_right from reaper_internal.delete_unreferenced(p_hashes[v_half + 1:], p_now);
    object_hashes := v_left.object_hashes || v_right.object_hashes;
    object_keys   := v_left.object_keys || v_right.object_keys;
    object_sizes  := v_left.object_sizes || v_right.object_sizes;
    refused       := v_left.refused + v_right.refused;
end;
$$;
comment on function reaper_internal.delete_unreferenced(text[], timestamptz) is
    'For collect_unreferenced: deletes locked content rows and returns what they were; refused ones stay.';
revoke all on function reaper_internal.delete_unreferenced(text[], timestamptz) from public;
