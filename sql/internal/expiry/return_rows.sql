-- return_rows: remove the mark from rows that were not deleted; they get the status back that they had. Rows that other transactions hold are skipped and reported, so that this
-- never waits for a writer; so are rows that PostgreSQL refuses to update, which do not keep the others from being returned.
create or replace function reaper_internal.return_rows(
    in  p_codes     text[],
    in  p_statuses  jsonb,
    out returned    integer,
    out busy_codes  text[]
)
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_free text[] := array(select p.short_code
                             from reaper.pastes p
                            where p.short_code = any (p_codes) and p.deletion_status = 'DELETION_IN_PROGRESS'
                              for update skip locked);
    v_code text;
begin
    returned := 0;
    begin
        update reaper.pastes p
           set deletion_status       = case when p_statuses ? p.short_code then p_statuses ->> p.short_code else 'NOT_EXPIRED' end,
               deletion_initiated_at = null
         where p.short_code = any (v_free);
        get diagnostics returned = row_count;
    exception when others or assert_failure then
        if reaper_internal.is_transient(sqlstate) then
            raise;
        end if;
        if cardinality(v_free) > 1 then
            foreach v_code in array v_free loop
                returned := returned + (select r.returned from reaper_internal.return_rows(array[v_code], p_statuses) as r);
            end loop;
        end if;
    end;
    busy_codes := array(select p.short_code
                          from reaper.pastes p
                         where p.short_code = any (p_codes) and p.deletion_status = 'DELETION_IN_PROGRESS');
end;
$$;
comment on function reaper_internal.return_rows(text[], jsonb) is
    'Puts marked rows back to the status that they had: that in p_statuses, as in batches.other_statuses, else NOT_EXPIRED; busy_codes are those that are still marked: another transaction holds them, or they cannot be updated.';
revoke all on function reaper_internal.return_rows(text[], jsonb) from public;
