-- blocked_reasons: rows that PostgreSQL refuses to delete. Counted up to 100,000; the message is that of any of them.
create or replace function reaper_internal.blocked_reasons(p_now timestamptz)
    returns setof text
    language sql stable
as $$
    select format('PostgreSQL refuses to delete %s (%s: %s %s). See reaper.blocked_rows; remove the cause, then run: select reaper.unblock()',
                  reaper_internal.counted(b.number, 'row'), f.short_code, f.sqlstate, left(f.message, 200))
      from (select count(*) as number from (select from reaper.blocked limit 100000) as l) as b
     cross join lateral (select l.short_code, l.sqlstate, l.message from reaper.blocked l order by l.short_code limit 1) as f;
$$;
comment on function reaper_internal.blocked_reasons(timestamptz) is
    'For attention_reasons: rows that PostgreSQL refuses to delete, and what to do.';
revoke all on function reaper_internal.blocked_reasons(timestamptz) from public;
