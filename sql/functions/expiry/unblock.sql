-- unblock: let the next claim take blocked rows at once, after the cause of their refusal was removed.
create or replace function reaper.unblock(p_short_code text default null, p_reason text default null)
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_rows integer;
begin
    delete from reaper.blocked b where p_short_code is null or b.short_code = p_short_code;
    get diagnostics v_rows = row_count;
    if v_rows > 0 then
        perform reaper_internal.record_audit('unblock', coalesce(p_short_code, 'all'), p_reason, format('%s rows', v_rows));
    elsif p_short_code is not null then
        raise exception sqlstate 'RP005' using
            message = format('%L is not blocked', p_short_code),
            hint    = 'See reaper.blocked_rows for the rows that are, and reaper.why(code) for the state of a paste; reaper.unblock() without a code unblocks all.';
    end if;
    return v_rows;
end;
$$;
comment on function reaper.unblock(text, text) is
    'Removes a row from reaper.blocked, or all rows without p_short_code, so that the next claim takes them; returns how many. Remove the cause of the refusal first. RP005 if the code is not blocked. Audited.';
revoke all on function reaper.unblock(text, text) from public;
grant execute on function reaper.unblock(text, text) to reaper_ops;
