-- release_locked: the core of a release. Deletes paste rows that the transaction has locked, if they are still due, and releases their
-- references. Pastes whose content another transaction holds are left, to be released later: with 'leave_few' up to a tenth of them, with
-- more lock_not_available is raised.
create or replace function reaper_internal.release_locked(
    p_pastes    reaper.locked_pastes,
    p_contents  reaper.locked_contents,
    p_now       timestamptz,
    p_attempt   text,
    p_statuses  jsonb
)
    returns reaper.release
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_all      integer := cardinality(p_pastes.codes);
    v_spent    text[];
    v_stuck    text[];
    v_release  reaper.release;
begin
    -- Content that is neither locked nor busy does not exist: its paste is deleted all the same (after a restore, for example).
    if p_contents.busy <> '{}' then
        select array_agg(l.short_code), array_agg(l.place), null
          into p_pastes
          from unnest(p_pastes.codes, p_pastes.places, p_pastes.hashes) as l (short_code, place, content_hash)
         where l.content_hash <> all (p_contents.busy);
        if p_attempt = 'leave_few' and coalesce(cardinality(p_pastes.codes), 0) < v_all - v_all / 10 then
            raise lock_not_available using message = format('%s contents are locked by other transactions', cardinality(p_contents.busy));
        end if;
    end if;

    with gone as (
        delete from reaper.pastes p
         where p.place = any (p_pastes.places) and p.expires_at <= p_now
        returning p.short_code, p.content_hash
    )
    select coalesce(array_agg(g.short_code), '{}'), array_agg(g.content_hash)
      into v_release.deleted_codes, v_spent
      from gone g;

    select r.object_hashes, r.object_keys, r.object_sizes
      into v_release.object_hashes, v_release.object_keys, v_release.object_sizes
      from reaper_internal.release_contents(p_contents, v_spent, p_now) as r;

    v_release.busy_codes := '{}';
    v_release.rows_returned := 0;
    v_release.rows_blocked := 0;
    if cardinality(v_release.deleted_codes) < cardinality(p_pastes.codes) then
        -- Not deleted although it is due and locked by us: a trigger suppressed the DELETE.
        v_stuck := array(select p.short_code
                           from reaper.pastes p
                          where p.short_code = any (array(select unnest(p_pastes.codes) except select unnest(v_release.deleted_codes)))
                            and p.expires_at <= p_now);
        if v_stuck <> '{}' then
            v_release.rows_blocked := reaper_internal.block_rows(v_stuck, p_now, '27000', 'the DELETE did not delete the row: a trigger suppresses it', p_statuses);
        end if;
    end if;
    if exists (select from reaper.blocked) then
        -- A session that holds such a row (unblock) is not waited for, because pastes are locked by now; the watchdog deletes what is left.
        delete from reaper.blocked b
         where b.short_code = any (array(select k.short_code from reaper.blocked k where k.short_code = any (v_release.deleted_codes) for update skip locked));
    end if;
    return v_release;
end;
$$;
comment on function reaper_internal.release_locked(reaper.locked_pastes, reaper.locked_contents, timestamptz, text, jsonb) is
    'For drops and reaps: deletes locked pastes that are due, subtracts their references, deletes content that no paste names. p_attempt: see release_patiently.';
revoke all on function reaper_internal.release_locked(reaper.locked_pastes, reaper.locked_contents, timestamptz, text, jsonb) from public;
