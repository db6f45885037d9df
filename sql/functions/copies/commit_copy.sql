-- commit_copy: commit_copies for one copy, with errors in the place of outcomes that change nothing.
create or replace function reaper.commit_copy(
    p_intent_id  uuid,
    p_lease      uuid,
    p_source     text,
    p_size       bigint,
    p_sha256     text,
    p_verified   boolean
)
    returns text
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_outcome text := (select c.outcome
                         from reaper.commit_copies(p_lease, array[p_intent_id], array[p_source], array[p_size], array[p_sha256], array[p_verified]) as c);
begin
    if v_outcome = 'lease_lost' then
        raise exception sqlstate 'RP001' using
            message = format('lease %s on copy %s is no longer held', coalesce(p_lease::text, '(null)'), coalesce(p_intent_id::text, '(null)')),
            hint    = 'Skip it and continue, and delete nothing: the copy was committed or failed before, or its lease expired and its object is queued for deletion.';
    elsif v_outcome = 'wrong_bytes' then
        raise exception sqlstate 'RP005' using
            message = format('copy %s: size or SHA-256 are not those of the content, or a move or repair was not verified', p_intent_id),
            hint    = 'Report the source as corrupt with report_copy, try the next one, or call fail_copy.';
    end if;
    return v_outcome;
end;
$$;
comment on function reaper.commit_copy(uuid, uuid, text, bigint, text, boolean) is
    'commit_copies for one copy: copied, moved, repaired, content_gone or not_needed. RP001 if the lease is lost, RP005 if the bytes are not the content''s or a move or repair was not verified, RP006 outside read committed.';
revoke all on function reaper.commit_copy(uuid, uuid, text, bigint, text, boolean) from public;
grant execute on function reaper.commit_copy(uuid, uuid, text, bigint, text, boolean) to reaper_worker, reaper_ops;
