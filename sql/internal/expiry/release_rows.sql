-- release_rows: the core of a drop. Deletes rows that are still marked and still expired, and releases their references.
--
-- Order of locks: if contents are waited for they are locked first, in hash order, then paste rows without waiting. A transaction that
-- writes about one content at a time, in whatever order, cannot deadlock with this: the only wait happens before any paste row is locked.
-- With p_may_leave no paste and no content is waited for, so their order does not matter: pastes whose content another transaction holds,
-- mostly another drop, are returned for a later claim. At most that many: with more, lock_not_available is raised. Null waits for all.
create or replace function reaper_internal.release_rows(
    in  p_codes        text[],
    in  p_places       tid[],
    in  p_now          timestamptz,
    in  p_may_leave    integer,
    in  p_statuses     jsonb,
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
    -- Check the application's deferred constraints here, where one bad row can be told from the rest.
    set constraints all immediate;

    if p_may_leave is null then
        v_named := array(select p.content_hash from reaper.pastes p where p.short_code = any (p_codes));
        select * into v_contents from reaper_internal.lock_contents(v_named, true);
        select * into v_held from reaper_internal.lock_marked(p_codes, p_places);
        -- A paste may have got other content meanwhile, which is not locked.
        v_left := array(select unnest(v_held.hashes) except select unnest(v_named));
    else
        select * into v_held from reaper_internal.lock_marked(p_codes, p_places);
        select * into v_contents from reaper_internal.lock_contents(v_held.hashes, false);
        v_left := v_contents.busy;
    end if;
    -- Content that is neither locked nor left out does not exist: its paste is deleted all the same (after a restore, for example).
    if v_left <> '{}' then
        select array_agg(h.short_code) as codes, array_agg(h.place) as places, cardinality(v_held.codes) - count(*) as others
          into v_held
          from unnest(v_held.codes, v_held.places, v_held.hashes) as h (short_code, place, content_hash)
         where h.content_hash <> all (v_left);
        if v_held.others > p_may_leave then
            raise lock_not_available using message = format('%s contents are locked by other transactions', cardinality(v_left));
        end if;
    end if;

    with gone as (
        delete from reaper.pastes p
         where p.place = any (v_held.places) and p.expires_at <= p_now
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
        -- Not deleted although it was due and locked by us: a trigger suppressed the DELETE.
        v_stuck := array(select p.short_code
                           from reaper.pastes p
                          where p.short_code = any (v_rest) and p.short_code = any (v_held.codes) and p.expires_at <= p_now);
        if v_stuck <> '{}' then
            rows_blocked := reaper_internal.block_rows(v_stuck, p_now, '27000', 'the DELETE did not delete the row: a trigger suppresses it', p_statuses);
        end if;
        select r.returned, r.busy_codes into rows_returned, busy_codes from reaper_internal.return_rows(v_rest, p_statuses) as r;
    end if;

    if exists (select from reaper.blocked) then
        delete from reaper.blocked b where b.short_code = any (deleted_codes);
    end if;
end;
$$;
comment on function reaper_internal.release_rows(text[], tid[], timestamptz, integer, jsonb) is
    'For drop_references: deletes due rows, subtracts references, deletes content that no paste names; returns the outcome of each row.';
revoke all on function reaper_internal.release_rows(text[], tid[], timestamptz, integer, jsonb) from public;
