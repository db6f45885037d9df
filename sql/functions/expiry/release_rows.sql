-- release_rows: the heart. Deletes rows that are still marked and still expired, and lets go of what they referred to.
--
-- Order of locks: content rows first, in hash order, then paste rows without waiting. Whoever writes about one content at a
-- time, in whatever order, can never form a cycle with this: the only wait happens before any paste row is held.
-- With p_may_leave nobody is waited for: pastes whose content another holds, mostly another drop, are given back for a later
-- claim. So many at most: with more of them lock_not_available is raised. Null waits for all.
-- Rows are looked for where the claim left them, which costs no index. One that was changed since lies elsewhere: where any is
-- missing, all are found by their keys. The code tells whether a place still holds that row. (OFFSET 0 keeps the planner from
-- turning that around: in a small table it would go through all rows, and compare each with every place.)
create or replace function reaper.release_rows(
    in  p_codes        text[],
    in  p_places       tid[],
    in  p_now          timestamptz,
    in  p_may_leave    integer,
    out deleted_codes  text[],
    out busy_codes     text[],
    out object_hashes  text[],
    out object_keys    text[],
    out object_sizes   bigint[],
    out rows_returned  integer,
    out rows_blocked   integer
)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_hashjoin = off
    set enable_mergejoin = off
    set jit = off
as $$
declare
    v_seen      record;
    v_contents  record;
    v_held      record;
    v_free      text[];
    v_rest      text[];
    v_spent     text[];
    v_stuck     text[];
begin
    -- An application's deferred constraints shall speak here, where one bad row can be told from the rest.
    set constraints all immediate;

    select array_agg(p.short_code) as codes, array_agg(p.ctid) as places, array_agg(p.content_hash) as hashes
      into v_seen
      from unnest(p_codes, p_places) as s (short_code, place)
     cross join lateral (select h.ctid, h.short_code, h.content_hash from public.pastes h where h.ctid = s.place offset 0) as p
     where p.short_code = s.short_code;
    if cardinality(v_seen.codes) is distinct from cardinality(p_codes) then
        select array_agg(p.short_code) as codes, array_agg(p.ctid) as places, array_agg(p.content_hash) as hashes
          into v_seen
          from public.pastes p
         where p.short_code = any (p_codes);
    end if;
    select * into v_contents from reaper.lock_contents(v_seen.hashes, p_may_leave is null);
    -- Content that is neither held nor busy does not exist: a paste that lost it, in a restore for example, goes all the same.
    v_free := v_seen.hashes;
    if v_contents.busy <> '{}' then
        v_free := array(select s.content_hash from unnest(v_seen.hashes) as s (content_hash) where s.content_hash <> all (v_contents.busy));
        if cardinality(v_seen.hashes) - cardinality(v_free) > p_may_leave then
            raise lock_not_available using message = format('%s contents are held by others', cardinality(v_contents.busy));
        end if;
    end if;
    select * into v_held from reaper.hold_marked(v_seen.codes, v_seen.places, v_free);

    with gone as (
        delete from public.pastes p
         where p.ctid = any (v_held.places) and p.expires_at <= p_now
        returning p.short_code, p.content_hash
    )
    select coalesce(array_agg(g.short_code), '{}'), array_agg(g.content_hash)
      into deleted_codes, v_spent
      from gone g;

    select r.object_hashes, r.object_keys, r.object_sizes
      into object_hashes, object_keys, object_sizes
      from reaper.release_contents(v_contents.hashes, v_contents.places, v_contents.ref_counts, v_spent, p_now) as r;

    rows_returned := 0;
    rows_blocked := 0;
    busy_codes := '{}';
    if cardinality(deleted_codes) < cardinality(p_codes) then
        v_rest := array(select unnest(p_codes) except select unnest(deleted_codes));
        -- Still there although it was due and ours: a trigger swallowed the DELETE.
        v_stuck := array(select p.short_code
                           from public.pastes p
                          where p.short_code = any (v_rest) and p.short_code = any (v_held.codes) and p.expires_at <= p_now);
        if v_stuck <> '{}' then
            rows_blocked := reaper.block_rows(v_stuck, p_now, '27000', 'the row was still there after its DELETE: a trigger prevents it');
        end if;
        select r.returned, r.busy_codes into rows_returned, busy_codes from reaper.return_rows(v_rest) as r;
    end if;

    if exists (select from reaper.blocked) then
        delete from reaper.blocked b where b.short_code = any (deleted_codes);
    end if;
end;
$$;
comment on function reaper.release_rows(text[], tid[], timestamptz, integer) is
    'Internal to drop_references: deletes due rows, subtracts references, deletes content that nobody names; says what became of each row.';
revoke all on function reaper.release_rows(text[], tid[], timestamptz, integer) from public;
