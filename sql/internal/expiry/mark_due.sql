-- mark_due: mark the oldest due rows. Rows that PostgreSQL refuses to mark are blocked; if it refuses all of them, the next are tried.
-- Rows are locked in the subtransaction that marks them: locked outside it, each claim would cost a multixact. If nothing is due, the locks
-- are undone as well: the claim may wait for another one next.
create or replace function reaper_internal.mark_due(
    in  p_limit         integer,
    in  p_after         timestamptz,
    in  p_after_code    text,
    in  p_now           timestamptz,
    out codes           text[],
    out places          tid[],
    out other_statuses  jsonb,
    out last_expires    timestamptz,
    out last_code       text
)
    language plpgsql volatile
as $$
declare
    v_due     record;
    v_codes   text[];
    v_marked  reaper.locked_pastes;
begin
    loop
        v_codes := null;
        begin
            v_due := reaper_internal.lock_due(p_limit, p_after, p_after_code, p_now);
            if v_due.codes is null then
                perform reaper_internal.undo();
            end if;
            v_codes := v_due.codes;
            v_marked := reaper_internal.mark_rows(v_due.places, p_now);
        exception
            when sqlstate 'UNDO0' then
                return;
            when others or assert_failure then
                -- An error before any row was seen is no fault of a row.
                if v_codes is null or reaper_internal.is_transient(sqlstate) then
                    raise;
                end if;
                v_marked := reaper_internal.mark_or_block(v_codes, p_now);
        end;
        if v_marked.codes <> '{}' then
            codes := v_marked.codes;
            places := v_marked.places;
            other_statuses := reaper_internal.statuses_of(v_due.other_statuses, codes);
            last_expires := v_due.last_expires;
            last_code := v_due.last_code;
            return;
        end if;
    end loop;
end;
$$;
comment on function reaper_internal.mark_due(integer, timestamptz, text, timestamptz) is
    'For claim_expired: marks up to p_limit due rows and returns their codes, new addresses, and where they ended; codes is null if there is none.';
revoke all on function reaper_internal.mark_due(integer, timestamptz, text, timestamptz) from public;
