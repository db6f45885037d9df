-- release_contents: subtract references from contents that the caller has locked, and delete those that no paste names.
-- Whether a paste names them is checked here, in a new statement after the locks: only that snapshot includes every such paste.
-- ref_count is a cache of the paste rows: if it reaches zero the rows are checked, and if they differ they are right.
-- A locked row keeps its address, unless a trigger on pastes has changed it meanwhile: then it is found by its key.
create or replace function reaper_internal.release_contents(
    in  p_contents     reaper.locked_contents,
    in  p_spent        text[],
    in  p_now          timestamptz,
    out object_hashes  text[],
    out object_keys    text[],
    out object_sizes   bigint[]
)
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_hashjoin = on
    set enable_mergejoin = off
    set jit = off
as $$
declare
    v_judged  record;
    v_moved   record;
    v_rows    integer;
begin
    select array_agg(j.content_hash) filter (where j.dies) as dead,
           array_agg(j.place) filter (where j.dies) as dead_places,
           array_agg(j.content_hash) filter (where not j.dies) as alive,
           array_agg(j.place) filter (where not j.dies) as alive_places,
           array_agg(greatest(j.expected, j.found)) filter (where not j.dies) as refs,
           array_agg(j.content_hash) filter (where j.drifted) as drifted,
           array_agg(j.expected) filter (where j.drifted) as drift_expected,
           array_agg(j.found) filter (where j.drifted) as drift_found,
           count(*) as contents
      into v_judged
      from (select n.content_hash, n.place, n.expected, n.found,
                   n.expected <= 0 and n.found = 0 as dies,
                   n.expected < 0 or (n.expected > 0) <> (n.found > 0) as drifted
              from (select c.content_hash, c.place, r.expected,
                           -- One paste shows that the content is in use; all are counted only if ref_count is wrong.
                           case when u.named is null then 0
                                when r.expected > 0 then 1
                                else (select count(*) from reaper.pastes p where p.content_hash = c.content_hash)
                           end as found
                      from (select s.content_hash, count(*) as refs from unnest(p_spent) as s (content_hash) group by s.content_hash) as s
                      join unnest(p_contents.hashes, p_contents.places, p_contents.ref_counts) as c (content_hash, place, ref_count)
                        on c.content_hash = s.content_hash
                     -- An adopted table may allow null: nothing was counted yet.
                     cross join lateral (select coalesce(c.ref_count, 0) - s.refs as expected) as r
                      left join lateral (select true as named from reaper.pastes p where p.content_hash = c.content_hash limit 1) as u on true) as n) as j;

    if v_judged.drifted is not null then
        insert into reaper.drift (content_hash, expected, found, action, noticed_at)
        select d.content_hash, d.expected, d.found,
               case when d.expected > 0 then 'left' when d.found > 0 then 'raised' else 'collected' end, p_now
          from unnest(v_judged.drifted, v_judged.drift_expected, v_judged.drift_found) as d (content_hash, expected, found);
    end if;

    with gone as (
        delete from reaper.content c
         where c.place = any (v_judged.dead_places)
        returning c.content_hash, coalesce(c.object_key, c.content_hash) as object_key, c.size_bytes
    )
    select coalesce(array_agg(g.content_hash), '{}'), coalesce(array_agg(g.object_key), '{}'), coalesce(array_agg(g.size_bytes), '{}')
      into object_hashes, object_keys, object_sizes
      from gone g;

    update reaper.content c
       set ref_count = a.refs
      from unnest(v_judged.alive_places, v_judged.refs) as a (place, refs)
     where c.place = a.place;
    get diagnostics v_rows = row_count;

    if v_rows + cardinality(object_hashes) < v_judged.contents then
        with gone as (
            delete from reaper.content c
             where c.content_hash = any (v_judged.dead)
            returning c.content_hash, coalesce(c.object_key, c.content_hash) as object_key, c.size_bytes
        )
        select array_agg(g.content_hash) as hashes, array_agg(g.object_key) as keys, array_agg(g.size_bytes) as sizes
          into v_moved
          from gone g;
        object_hashes := object_hashes || v_moved.hashes;
        object_keys   := object_keys || v_moved.keys;
        object_sizes  := object_sizes || v_moved.sizes;
        update reaper.content c
           set ref_count = a.refs
          from unnest(v_judged.alive, v_judged.refs) as a (content_hash, refs)
         where c.content_hash = a.content_hash and c.ref_count is distinct from a.refs;
    end if;
end;
$$;
comment on function reaper_internal.release_contents(reaper.locked_contents, text[], timestamptz) is
    'For release_locked: subtracts p_spent references from locked contents, deletes those that no paste names, and returns what they were.';
revoke all on function reaper_internal.release_contents(reaper.locked_contents, text[], timestamptz) from public;
