-- release_patiently: release rows in up to three attempts, each with more patience for contents that other transactions hold:
--   leave_few  waits for none, and leaves up to a tenth of the rows, so that parallel releases do not wait for each other;
--   wait       waits for every content, because trying so many rows later would cost more (lock_timeout bounds each wait);
--   leave_all  waits for none and leaves any number: a content is held for long, and the other rows need not wait for it;
--   leave_some the same, but if that leaves all, nothing is changed and nothing stays locked (without a mark it always is so).
create or replace function reaper_internal.release_patiently(
    p_codes     text[],
    p_places    tid[],
    p_marked    boolean,
    p_now       timestamptz,
    p_attempts  text[],
    p_statuses  jsonb
)
    returns reaper.release
    language plpgsql volatile
as $$
begin
    for v_attempt in 1 .. cardinality(p_attempts) loop
        begin
            return reaper_internal.release_or_block(p_codes, p_places, p_marked, p_now, p_attempts[v_attempt], p_statuses);
        exception when lock_not_available then
            if v_attempt = cardinality(p_attempts) then
                raise;
            end if;
        end;
    end loop;
end;
$$;
comment on function reaper_internal.release_patiently(text[], tid[], boolean, timestamptz, text[], jsonb) is
    'For drops and reaps: release_or_block with each of p_attempts, out of {leave_few,wait,leave_all,leave_some}, until one does not end in lock_not_available.';
revoke all on function reaper_internal.release_patiently(text[], tid[], boolean, timestamptz, text[], jsonb) from public;
