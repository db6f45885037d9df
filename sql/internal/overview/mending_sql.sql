-- mending_sql: statements that remove the cause of a refusal, for a person to read, judge and run. Where a foreign key refused, the key is looked
-- up by the name in the message; a message in another language, or any other cause, gets the last statement alone.
create or replace function reaper_internal.mending_sql(p_sqlstate text, p_message text)
    returns text
    language plpgsql stable
as $$
declare
    v_names  text[] := regexp_match(p_message, 'foreign key constraint "([^"]+)" on table "([^"]+)"$');
    v_key    record;
begin
    if p_sqlstate in ('23503', '23001') and v_names is not null then
        select c.conrelid::regclass::text as referring, c.confrelid::regclass::text as pastes, quote_ident(c.conname) as name,
               quote_ident(a.attname) as reference, quote_ident(f.attname) as code
          into v_key
          from pg_catalog.pg_constraint c
          join pg_catalog.pg_class r on r.oid = c.conrelid and r.relname = v_names[2]
          join reaper.bindings b on b.name = 'pastes' and reaper_internal.bound_oid(b.bound_table) = c.confrelid
          join pg_catalog.pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
          join pg_catalog.pg_attribute f on f.attrelid = c.confrelid and f.attnum = c.confkey[1] and f.attname = b.columns ->> 'short_code'
         where c.contype = 'f' and c.conname = v_names[1] and cardinality(c.conkey) = 1;
    end if;
    if v_key is null then
        return E'-- Remove the cause that the message names, then:\nselect reaper.unblock();';
    end if;
    return format(
        E'-- Either delete the rows that refer to blocked pastes:\n'
        'delete from %1$s r using reaper.blocked_rows b where r.%4$s = b.short_code;\n'
        'select reaper.unblock();\n\n'
        '-- or let them be deleted with their paste from now on:\n'
        'alter table %1$s drop constraint %3$s,\n'
        '    add constraint %3$s foreign key (%4$s) references %2$s (%5$s) on delete cascade not valid;\n'
        'alter table %1$s validate constraint %3$s;\n'
        'select reaper.unblock();',
        v_key.referring, v_key.pastes, v_key.name, v_key.reference, v_key.code);
end;
$$;
comment on function reaper_internal.mending_sql(text, text) is
    'For blocked_causes: SQL that removes the cause of a refused deletion, to be read before it is run.';
revoke all on function reaper_internal.mending_sql(text, text) from public;
