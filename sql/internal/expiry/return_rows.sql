-- return_rows: remove the mark from rows that were not deleted. Rows that other transactions hold are skipped and reported, so that this
-- never waits for a writer; so are rows that PostgreSQL refuses to update, which do not keep the others from being returned.
create or replace function reaper_internal.return_rows(
    in  p_codes     text[],
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
                             from public.pastes p
                            where p.short_code = any (p_codes) and p.deletion_status = 'DELETION_IN_PROGRESS'
                              for update skip locked);
    v_code text;
begin
    returned := 0;
    begin
        update public.pastes p
           set deletion_status = 'NOT_EXPIRED', deletion_initiated_at = null
         where p.short_code = any (v_free);
        get diagnostics returned = row_count;
    exception when others then
        if reaper_internal.is_transient(sqlstate) then
            raise;
        end if;
        if cardinality(v_free) > 1 then
            foreach v_code in array v_free loop
                returned := returned + (select r.returned from reaper_internal.return_rows(array[v_code]) as r);
            end loop;
        end if;
    end;
    busy_codes := array(select p.short_code
                          from public.pastes p
                         where p.short_code = any (p_codes) and p.deletion_status = 'DELETION_IN_PROGRESS');
end;
$$;
comment on function reaper_internal.return_rows(text[]) is
    'Puts marked rows back to NOT_EXPIRED; busy_codes are those that are still marked: another transaction holds them, or they cannot be updated.';
revoke all on function reaper_internal.return_rows(text[]) from public;
