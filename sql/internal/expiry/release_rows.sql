-- release_rows: the heart. Deletes rows that are still marked and still expired, and lets go of what they referred to.
--
-- Order of locks: where contents are waited for they come first, in hash order, then paste rows without waiting. Whoever writes
-- about one content at a time, in whatever order, can never form a cycle with this: the only wait happens before any paste row
-- is held. With p_may_leave no paste and no content is waited for, so that their order does not matter: pastes whose content
-- another holds, mostly another drop, are given back for a later claim. So many at most: with more of them lock_not_available
-- is raised. Null waits for all.
create or replace function reaper_internal.release_rows(
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
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_hashjoin = off
    set enable_mergejoin = off
    set jit = off
as $$
declare
    v_named     text[];
    v_contents  record;
    v_held      record;
    v_left      text[];
    v_rest      text[];
    v_spent     text[];
    v_stuck     text[];
begin
    -- An application's deferred constraints shall speak here, where one bad row can be told from the rest.
    set constraints all immediate;

    if p_may_leave is null then
        v_named := array(select p.content_hash from public.pastes p where p.short_code = any (p_codes));
        select * into v_contents from reaper_internal.lock_contents(v_named, true);
        select * into v_held from reaper_internal.lock_marked(p_codes, p_places);
        -- Somebody may have given a paste other content meanwhile, which is not held.
        v_left := array(select unnest(v_held.hashes) except select unnest(v_named));
    else
        select * into v_held from reaper_internal.lock_marked(p_codes, p_places);
        select * into v_contents from reaper_internal.lock_contents(v_held.hashes, false);
        v_left := v_contents.busy;
    end if;
    -- Content that is neither held nor left does not exist: a paste that lost it, in a restore for example, goes all the same.
    if v_left <> '{}' then
        select array_agg(h.short_code) as codes, array_agg(h.place) as places, cardinality(v_held.codes) - count(*) as others
          into v_held
          from unnest(v_held.codes, v_held.places, v_held.hashes) as h (short_code, place, content_hash)
         where h.content_hash <> all (v_left);
        if v_held.others > p_may_leave then
            raise lock_not_available using message = format('%s contents are held by others', cardinality(v_left));
        end if;
    end if;

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
      from reaper_internal.release_contents(v_contents.hashes, v_contents.places, v_contents.ref_counts, v_spent, p_now) as r;

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
            rows_blocked := reaper_internal.block_rows(v_stuck, p_now, '27000', 'the row was still there after its DELETE: a trigger prevents it');
        end if;
        select r.returned, r.busy_codes into rows_returned, busy_codes from reaper_internal.return_rows(v_rest) as r;
    end if;

    if exists (select from reaper.blocked) then
        delete from reaper.blocked b where b.short_code = any (deleted_codes);
    end if;
end;
$$;
comment on function reaper_internal.release_rows(text[], tid[], timestamptz, integer) is
    'For drop_references: deletes due rows, subtracts references, deletes content that nobody names; says what became of each row.';
revoke all on function reaper_internal.release_rows(text[], tid[], timestamptz, integer) from public;
