-- lifecycle_problems: why lifecycle rules cannot be applied to the bound table: each pass would read it whole without an index led by
-- created_at. Partitions are checked one by one.
create or replace function reaper.lifecycle_problems()
    returns table (problem text, fix text)
    language plpgsql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_table    regclass := reaper_internal.base_table('pastes');
    v_created  name := reaper_internal.base_column('pastes', 'created_at');
    v_code     name := reaper_internal.base_column('pastes', 'short_code');
    v_type     text;
begin
    select format_type(a.atttypid, null) into v_type
      from pg_attribute a
     where a.attrelid = v_table and a.attname = v_created and not a.attisdropped;
    if v_type is null then
        return query values ('no table is bound as pastes', 'Run reaper migrate, which binds the application''s tables (docs/adoption.md).');
    elsif v_type not in ('timestamp with time zone', 'timestamp without time zone', 'date') then
        return query values (format('%s.%I has type %s, which is not a time', v_table, v_created, v_type),
                             'Bind another column as created_at, of type timestamp with time zone, timestamp or date.');
    else
        return query
            select format('%s has no valid index led by %I: every pass would read the whole table', string_agg(u.relid::regclass::text, ', '), v_created),
                   string_agg(format('create index concurrently on %s (%I, %I);', u.relid::regclass, v_created, v_code), E'\n')
                   || case when bool_or(u.relid <> v_table) then format(E'\ncreate index on %s (%I, %I); -- attaches those, and covers new partitions', v_table, v_created, v_code)
                           else '' end
              from reaper_internal.unindexed_tables(v_table, array[v_created], true) as u
            having count(*) > 0;
    end if;
end;
$$;
comment on function reaper.lifecycle_problems() is
    'Why lifecycle rules cannot be applied to the bound table of pastes, and the statement that fixes it; no row if they can. Reads the catalogue only.';
revoke all on function reaper.lifecycle_problems() from public;
grant execute on function reaper.lifecycle_problems() to reaper_worker, reaper_ops, reaper_ro;
