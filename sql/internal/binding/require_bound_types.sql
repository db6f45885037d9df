-- require_bound_types: the columns of the new views have types that reaper can work with, and codes and hashes identify a row.
create or replace function reaper_internal.require_bound_types()
    returns void
    language plpgsql stable
as $$
declare
    v_wrong text;
begin
    select string_agg(format('%s.%s is %s', w.name, w.column_name, format_type(a.atttypid, null)), ', ')
      into v_wrong
      from (values ('pastes', 'short_code', '{text,character varying}'::text[]), ('pastes', 'content_hash', '{text,character varying}'),
                   ('pastes', 'expires_at', '{timestamp with time zone}'), ('pastes', 'deletion_status', '{text,character varying}'),
                   ('pastes', 'deletion_initiated_at', '{timestamp with time zone}'), ('content', 'content_hash', '{text,character varying}'),
                   ('content', 'object_key', '{text,character varying}'), ('content', 'ref_count', '{bigint,integer,smallint}'),
                   ('content', 'size_bytes', '{bigint,integer,smallint}')) as w (name, column_name, types)
      join pg_catalog.pg_attribute a on a.attrelid = to_regclass('reaper.' || w.name) and a.attname = w.column_name
     where format_type(a.atttypid, null) <> all (w.types);
    select concat_ws(', ', v_wrong, string_agg(format('%s.%s is not unique', b.name, k.column_name), ', '))
      into v_wrong
      from (values ('pastes', 'short_code'), ('content', 'content_hash')) as k (name, column_name)
      join reaper.bindings b on b.name = k.name
     where not exists (select from pg_catalog.pg_index i
                         join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
                        where i.indrelid = reaper_internal.bound_oid(b.bound_table) and a.attname = b.columns ->> k.column_name
                          and i.indisunique and i.indisvalid and i.indnkeyatts = 1 and i.indpred is null);
    if v_wrong <> '' then
        raise exception sqlstate 'RP010' using
            message = format('these columns cannot have their part: %s', v_wrong),
            hint    = 'Bind columns of the types in docs/adoption.md; nothing was changed.';
    end if;
end;
$$;
comment on function reaper_internal.require_bound_types() is
    'For bind: RP010 if a bound column has a type that reaper cannot use, or a code or hash is not unique.';
revoke all on function reaper_internal.require_bound_types() from public;
