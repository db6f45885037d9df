-- release_rows: one attempt to release rows that are known by their codes: those of a claim, or rows that an earlier attempt has seen.
--
-- Order of locks: if contents are waited for they are locked first, in hash order, then paste rows without waiting. A transaction that
-- writes about one content at a time, in whatever order, cannot deadlock with this: the only wait happens before any paste row is locked.
-- Without waiting the order does not matter.
create or replace function reaper_internal.release_rows(
    p_codes    text[],
    p_places   tid[],
    p_marked   boolean,
    p_now      timestamptz,
    p_attempt  text,
    p_statuses jsonb
)
    returns reaper.release
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_named     text[];
    v_contents  reaper.locked_contents;
    v_pastes    reaper.locked_pastes;
    v_release   reaper.release;
begin
    if p_attempt = 'wait' then
        v_named := array(select p.content_hash from reaper.pastes p where p.short_code = any (p_codes));
        v_contents := reaper_internal.lock_contents(v_named, true);
        v_pastes := reaper_internal.lock_pastes(p_codes, p_places, p_marked, p_now);
        -- A paste may have got other content meanwhile, which is not locked.
        v_contents.busy := array(select unnest(v_pastes.hashes) except select unnest(v_named));
    else
        v_pastes := reaper_internal.lock_pastes(p_codes, p_places, p_marked, p_now);
        v_contents := reaper_internal.lock_contents(v_pastes.hashes, false);
    end if;
    v_release := reaper_internal.release_locked(v_pastes, v_contents, p_now, p_attempt, p_statuses);
    if p_marked and cardinality(v_release.deleted_codes) < cardinality(p_codes) then
        select r.returned, r.busy_codes
          into v_release.rows_returned, v_release.busy_codes
          from reaper_internal.return_rows(array(select unnest(p_codes) except select unnest(v_release.deleted_codes)), p_statuses) as r;
    end if;
    return v_release;
end;
$$;
comment on function reaper_internal.release_rows(text[], tid[], boolean, timestamptz, text, jsonb) is
    'For release_or_block: locks rows and their contents, releases them, and returns the mark of those that were not deleted. p_attempt: see release_patiently.';
revoke all on function reaper_internal.release_rows(text[], tid[], boolean, timestamptz, text, jsonb) from public;
