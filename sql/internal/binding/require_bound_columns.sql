-- require_bound_columns: refuse names that no view has, before anything is dropped.
create or replace function reaper_internal.require_bound_columns(p_columns jsonb)
    returns void
    language plpgsql stable
as $$
declare
    v_wrong text;
begin
    if p_columns is null or jsonb_typeof(p_columns) <> 'object'
       or exists (select from jsonb_each(p_columns) as t where jsonb_typeof(t.value) <> 'object') then
        raise exception sqlstate 'RP005' using
            message = 'p_columns must be an object of objects',
            hint    = 'Example: select reaper.bind(''{"pastes": {"expires_at": "valid_until"}}'');';
    end if;
    select string_agg(format('%s.%s', t.key, c.key), ', ')
      into v_wrong
      from jsonb_each(p_columns) as t
     cross join lateral jsonb_each(t.value) as c
      left join reaper.bindings b on b.name = t.key and b.columns ? c.key and jsonb_typeof(c.value) = 'string' and c.value <> '""'
     where b.name is null;
    if v_wrong is not null then
        raise exception sqlstate 'RP005' using
            message = format('these columns cannot be bound to a name: %s', v_wrong),
            hint    = (select 'Columns: ' || string_agg(b.name || '.' || c.column_name, ', ' order by b.name, c.column_name)
                         from reaper.bindings b
                        cross join lateral jsonb_object_keys(b.columns) as c (column_name));
    end if;
end;
$$;
comment on function reaper_internal.require_bound_columns(jsonb) is
    'For bind: RP005 unless p_columns is {"pastes": {column: name}, "content": {column: name}} with columns of the views.';
revoke all on function reaper_internal.require_bound_columns(jsonb) from public;
